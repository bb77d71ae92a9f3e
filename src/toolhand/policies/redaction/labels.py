"""What the words just before a number say that it is: a phone, a card, an identity, or an order and the like."""

from __future__ import annotations

import re
from typing import Final

from toolhand.core.lazily import lazy_pattern

_WINDOW: Final = 32
_JOINTS: Final = r"(?:号码?|编号|numbers?|num|nos?|ids?|codes?|is|was|是|为|s|[\s:：=#\"'“‘\[({（_.\-/\\])*$"


def _label(words: str) -> re.Pattern[str]:
    return lazy_pattern(f"(?:{words}){_JOINTS}", re.IGNORECASE)


PHONE: Final = _label(
    r"phone|mobile|(?<![a-z])tel|telephone|cell|contact|whatsapp|手机|电话|联系方式|联系|致电|拨打|微信|短信|来电"
)
CARD: Final = _label(r"card|卡|卡号|bank[ _]?account|账号|账户|帐号|(?<![a-z])pan")
IDENTITY: Final = _label(
    r"身份证件?|证件|居民|identity|id[ _\-]?card|(?<![a-z])id[ _\-]?n(?:o|um|umber)|resident|sfz"
)
NOT_A_PERSON: Final = _label(
    r"order|订单|单|运单|快递|物流|流水|交易|工单|发票|合同|批次|序列|条码|条形码|货号|商品|编号|税号|票|凭证|"
    r"tracking|waybill|parcel|shipment|invoice|transaction|txn|trace|serial|sku|batch|ticket|barcode|(?<![a-z])(?:ean|upc|gtin|"
    r"isbn|issn|imei|seq|ts|lot|ref|qq)|reference|sequence|offset|bytes|size|length|count|total|timestamp|time|nonce|amount|price|"
    r"金额|合计|总计|余额|version|build|构建|版本|commit|hash|checksum|receipt|voucher|[$¥￥€£]"
)


def before(text: str, start: int, label: str) -> str:
    """The words just before a place in a text; a field's name stands before the first of them.

    Args:
        text: the text.
        start: the place, in characters.
        label: the name of the field that holds the text, or "".
    """
    window = text[max(0, start - _WINDOW) : start]
    return f"{label[-_WINDOW:]}: {window}" if label and start < _WINDOW else window
