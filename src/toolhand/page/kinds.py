"""What programs call things, in a person's words: the liberties taken in reading, error codes, faults of models, limits, endings.

In English a code says itself what it means. In Chinese each has words of its own; one that is not known yet stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolhand.core.language import Language

FIXES: Final[Mapping[str, str]] = {
    # how it was written
    "trailing_comma": "多余的逗号",
    "missing_comma": "缺少逗号",
    "single_quotes": "单引号",
    "typographic_quotes": "弯引号",
    "escaped_quotes": "转义的引号",
    "triple_quotes": "三引号",
    "marked_quotes": "带标记的引号",
    "other_quotes": "其他引号",
    "inner_quotes": "文本内的引号",
    "unquoted_key": "键没有引号",
    "unquoted_value": "值没有引号",
    "python_literal": "Python 写法",
    "number_spelling": "数字写法",
    "full_width_punctuation": "全角标点",
    "other_separator": "其他分隔符",
    "comment": "注释",
    "raw_newline": "未转义的换行",
    "literal_backslash": "未转义的反斜杠",
    "lone_surrogate": "残缺的字符",
    "mismatched_closer": "括号不匹配",
    "missing_closer": "缺少右括号",
    "fence": "代码围栏",
    "no_end_marker": "缺少结束标记",
    "no_start_marker": "缺少开始标记",
    "stray_marker": "多余的标记",
    "missing_indent": "缺少缩进",
    "numbered_line": "带编号的行",
    "braces_for_block": "用花括号代替缩进",
    "idle_remark": "步骤后面的说明",
    # how the call was put together
    "other_key_names": "其他字段名",
    "flat_arguments": "参数没有放在 arguments 里",
    "name_as_key": "工具名作为键",
    "name_in_arguments": "工具名放在参数里",
    "arguments_as_text": "参数是文本",
    "positional_argument": "按位置给出的参数",
    "nested_twice": "嵌套了两层",
    "bare_text": "没有标记的文本",
    "call_syntax": "函数调用写法",
    "picked_field": "取出其中一个字段",
    "invented_result": "编造的结果",
    "idle_comparison": "没有用处的比较",
    "bare_variable": "直接写变量名",
    "nested_call": "嵌套的调用",
    "joined_texts": "拼接的文本",
    # the tool's name and the arguments' keys
    "tool_name_spelling": "工具名写法",
    "near_tool_name": "相近的工具名",
    "key_spelling": "参数名写法",
    "key_alias": "参数别名",
    "near_key": "相近的参数名",
    "renamed_key": "改名的参数",
    "generic_key": "笼统的参数名",
    "repeated_key": "重复的参数名",
    "extra_dropped": "去掉多余的参数",
    "unwrapped_arguments": "取出包裹的参数",
    "unwrapped_value": "取出包裹的值",
    "bare_value": "只有一个值",
    "positional_value": "按位置给出的值",
    "reference_filled": "填入引用的结果",
    "idle_dropped": "去掉没有人提到的值",
    "source_asked": "先查询来源",
    # what counts as not sent
    "null_is_missing": "null 视为未给出",
    "empty_is_missing": "空值视为未给出",
    "sentinel_is_missing": "占位值视为未给出",
    "null_word": "表示“无”的词",
    # values
    "surrogates_mended": "修复残缺字符",
    "reasoning_dropped": "去掉思考内容",
    "number_to_string": "数字转为文本",
    "boolean_to_string": "布尔值转为文本",
    "float_to_integer": "小数转为整数",
    "string_to_number": "文本转为数字",
    "grouped_digits": "数字中的分隔符",
    "spoken_number": "用词写的数字",
    "percent": "百分数",
    "unit_dropped": "去掉单位",
    "unit_converted": "换算单位",
    "string_to_boolean": "文本转为布尔值",
    "word_to_boolean": "词转为布尔值",
    "number_to_boolean": "数字转为布尔值",
    "json_in_string": "文本中的 JSON",
    "item_to_array": "单个值转为列表",
    "split_to_array": "拆分为列表",
    "array_to_item": "列表转为单个值",
    "enum_spelling": "选项写法",
    "enum_name": "选项名称",
    "enum_type": "选项类型",
    "near_enum": "相近的选项",
    "date_form": "日期写法",
    "spoken_date": "用词写的日期",
    "time_dropped": "去掉时间",
    "midnight_added": "补上零点",
}
"""Of each liberty in reading and binding."""

CODES: Final[Mapping[str, str]] = {
    # of calls
    "ok": "成功",
    "unknown_tool": "没有这个工具",
    "missing_argument": "缺少参数",
    "invalid_argument": "参数无效",
    "invalid_json": "JSON 无效",
    "unparseable": "无法读懂",
    "truncated": "被截断",
    "doubtful": "不确定是否为调用",
    "not_allowed": "此处不允许",
    "not_permitted": "无权限",
    "approval_required": "需要批准",
    "approval_denied": "未获批准",
    "precondition_failed": "前提不满足",
    "postcondition_failed": "结果不符合要求",
    "repeated_call": "重复的调用",
    "rate_limited": "请求过多",
    "circuit_open": "已熔断",
    "timeout": "超时",
    "network": "网络错误",
    "upstream": "后端服务出错",
    "execution": "执行出错",
    "result_too_large": "结果过大",
    "outcome_unknown": "结果未知",
    "cancelled": "已取消",
    # of models' servers
    "unreachable": "无法连接",
    "untrusted": "证书不可信",
    "cut": "回答中断",
    "garbled": "回答无法读懂",
    "moved": "地址已更改",
    "overloaded": "服务过载",
    "failed": "服务出错",
    "quota": "额度用尽",
    "key": "API key 不被接受",
    "unknown_model": "没有这个模型",
    "context_overflow": "对话过长",
    "content_filter": "内容被拦截",
    "refused": "请求不被接受",
    # of runs and replies
    "turn_limit": "轮数上限",
    "call_limit": "调用数上限",
    "token_limit": "token 上限",
    "cost_limit": "费用上限",
    "time_limit": "时间上限",
    "repair_limit": "修正次数上限",
    "loop": "原地重复",
    "approval": "等待批准",
    "output_invalid": "答案不符合要求",
    "length": "达到长度上限",
    "unknown": "原因未知",
    "on trial": "试用未通过",
    "unusable": "回复无法使用",
}
"""Of each error code of calls, fault of models' servers, limit and ending."""


def fix_word(kind: str, language: Language) -> str:
    """A liberty's words.

    Args:
        kind: of the `Fix`.
        language: in which they are wanted.
    """
    return FIXES.get(kind, kind) if language == "zh" else kind.replace("_", " ")


def code_word(code: str, language: Language) -> str:
    """A code's words; in English the code itself, which is what programs, logs and documents call it.

    Args:
        code: an error's, a fault's, a limit's or an ending's.
        language: in which they are wanted.
    """
    return CODES.get(code, code) if language == "zh" else code
