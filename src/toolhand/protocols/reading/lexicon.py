"""The words that tell a call that is meant from one that is only talked about. Data, in English and Chinese.

Each signal counts once in a text, wherever its words stand outside the calls themselves. The weights add up with what
the form says (`judge`); positive ones speak for a mention, negative ones for a call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolhand.core.lazily import lazy_pattern

_ACT = (
    r"(?:run|ran|running|execut\w*|call(?:ed|ing|s)?|invok\w*|sen[dt]|sending|issu\w+|perform\w*|trigger\w*"
    r"|follow(?:ed|ing)?|us(?:e|ed|ing)"
    r"|submit\w*|dispatch\w*|made|make|making|do(?:ne|ing)?|act(?:ed|ing)?|creat\w*|delet\w*|restart\w*"
    r"|change\w*|pa(?:y|id)|appl(?:y|ied)|allowed|emit\w*)"
)
_ACT_ZH = (
    r"(?:真正|实际|真的|现在|直接|再次?|重复|擅自|主动|继续|去|给[您你]?|为[您你]?|替[您你]|帮[您你]|任何)*(?:执行|运行|调用|发出|发送|使用|设置|操作|触发|提交|创建|删除|重启|"
    r"查询|修改|付款|支付|下单|写入|打开|采用|照做|做|办理?|处理|转账|动作|请求|工具|照着?做)"
)


@dataclass(frozen=True, slots=True)
class Signal:
    """A kind of words and what it weighs.

    Args:
        name: what it says about a call.
        weight: for a mention where positive, for a call where negative.
        words: the pattern.
        where: "around" for all the prose, "lead" for the words before the call, "tail" for those behind.
    """

    name: str
    weight: int
    words: re.Pattern[str]
    where: str = "around"


def _signal(name: str, weight: int, *words: str, where: str = "around") -> Signal:
    return Signal(name, weight, lazy_pattern("|".join(words), re.IGNORECASE | re.MULTILINE), where)


SIGNALS: tuple[Signal, ...] = (
    _signal(
        "illustration",
        3,
        r"\b(?:for (?:example|instance)|e\.g\.|(?:an?|the|this|another|following) (?:\w+ )?example"
        r"|examples?\s*[:(]|sample|illustrat\w+|demo(?:nstrat\w+|s)?"
        r"|placeholders?|looks? like|look(?:s|ed)? as follows|would (?:look|be|read|send)|could (?:look|send"
        r"|be|write)|should resemble|resembles?|the (?:general )?shape"
        r"|few-shot|tutorial|exercise|homework|quiz|snippets?|cheat ?sheet|hypothetical\w*|imagine|suppose"
        r"|(?:explain|describe|illustrate|demonstrate|walk you through) (?:how|what|why|with|the|this|it|that)"
        r"|template|mock\w*|dummy|pseudo-?code)\b",
        r"例如|比如|譬如|示例|举例|举个例|例子|样例|范例|示范|演示|示意|模板|占位|形如|大致(?:如下|是)|大概(?:是|长)|长这样|伪代码|教程|作业|考试|考题|习题|练习|假设|假如"
        r"|仿照|(?:来|给[您你]|为[您你]|让我)(?:解释|说明|演示|举例|介绍|讲讲|讲解)|(?:所谓|意思是)",
    ),
    _signal(
        "format",
        2,
        r"\b(?:formats?|syntax|notation|spell(?:s|ed|ing)|schemas?|documentation|docs|specification|convention"
        r"|markup|grammar|special tokens?|parser|the tag|field names?"
        r"|in (?:javascript|python|json|yaml|xml|typescript|java)|written as)\b",
        r"格式|语法|写法|写作(?!业)|写成|记号|标记|标签|文档|规范|约定|说明|解析器|特殊符号|接口(?:说明|文档)|字段",
    ),
    _signal(
        "past",
        3,
        rf"\balready\s+(?:been\s+)?{_ACT}\b|\b(?:previous(?:ly)?|earlier|last (?:time|turn|week|run|night"
        rf"|month)|yesterday|this morning|an hour ago|days? ago|back then"
        r"|was (?:produced|sent|made|run|executed|issued|called|used)|were (?:sent|made|run|executed)|ran at"
        r"|history|historical|archived?"
        r"|logged|(?:the|your|this|server|audit) log|log (?:line|file|entry|excerpt)|the trace|transcript|I"
        r" (?:called|ran|used|sent|executed|made))\b",
        r"上一?[轮次]|上周|昨[天日晚]|今早|今天早上|先前|之前[的已]|已经?(?:被)?(?:执行|发送|调用|完成|运行|处理|生效)|曾经?|历史|日志|记录|当时|刚才|刚刚|过去|旧的",
    ),
    _signal(
        "attributed",
        2,
        r"\b(?:you|he|she|they|someone|somebody|the user|the customer|a user) (?:\w+ )?(?:pasted|sent|attached"
        r"|shared|posted|wrote|provided|gave|typed|quoted|asked what)\b",
        r"\b(?:page|file|log|article|changelog|document|e-?mail|message|trace|fixture|test|report|readme"
        r"|repository|book|website|comment|ticket|issue|prompt|config\w*)"
        r"(?: \w+){0,4}? (?:contains?|contained|says?|said|shows?|showed|reads?|has|had|includes?|included"
        r"|mentions?|quotes?|lists?)\b",
        r"\b(?:quot(?:e[ds]?|ation|ing)|fixtures?|changelog|verbatim|(?:model|assistant|system|bot|agent)"
        r" \w{1,12} (?:answered|replied|wrote|said|produced|output))\b",
        r"[您你]?(?:刚才?|之前)?(?:贴|粘贴?|发|上传|转)(?:的|来|出|给|了|过来)|用户(?:贴|发|说|写|问)|[里中](?:有|出现|包含|写|提到)|原文|引用|摘自|摘录|片段"
        r"|测试用例|误用|来自|出自|收到的",
    ),
    _signal(
        "not_done",
        4,
        rf"\b(?:not|n't|never|without|nothing|no (?:tool|call|request|action)s?|cannot|refus\w+|declin\w+"
        rf"|avoid|instead of|rather than)\b(?:\W+\w+){{0,4}}?\W+{_ACT}\b",
        r"\b(?:ignored? (?:it|that|this|the)|I (?:refuse|decline|won't|will not|did not|didn't|can't|cannot)"
        r" (?:do|run|call|follow|execute|send|use|make|comply|obey)|no tool (?:is|was) needed|only to show"
        r"|shown only)\b",
        rf"(?:没有?|并未|未曾|尚未|并没有?|从未|不曾|还没有?|无法|拒绝|无需|无须|不必|不用|不(?:能|会|要|可以?|应该?|得|敢|建议|允许|打算|想|再)?|请勿|切勿|禁止|避免"
        rf"|别){_ACT_ZH}",
        r"千万不要|绝对不能|仅[供作为]|只是?(?:用[来作于]|作为|为了|做)?(?:展示|说明|示意|举例|介绍|演示|参考|语法|格式|一个普通)|供[您你]?(?:参考|核对|选型|对照)"
        r"|不是(?:要)?我|没有真的",
    ),
    _signal(
        "to_user",
        3,
        r"(?:^|[.:!?;]\s+|\bplease |\band |\bthen |, )(?:copy|paste|save|put|replace|submit|upload|add|type"
        r"|enter|append|insert|drop|post|run|execute|try|fill|store|import|change|write)"
        r" (?:it|this|that|the|your|these|them|`|<|following|into|in|to)\b",
        r"\b(?:you|your (?:client|importer|bot|server|program|script|code|app\w*|backend|frontend|agent|model)"
        r"|students?|developers?|users?|clients?|callers?|the (?:client|server|parser|model|assistant))"
        r" (?:can|could|should|may|might|need|must|will|expects?|has to|have to|would|prints?|emits?|writes?"
        r"|sends?)\b",
        r"\b(?:yourself|by hand|on your (?:own|side|machine|end)|from a terminal|in your (?:terminal|shell"
        r"|browser|code|script|client)|curl|when a model|a model (?:that|which|wants))\b",
        r"请(?:您|你)?(?:先|再)?(?:把|将|自行|自己|在|复制|保存|粘贴|替换|填写|学生|改成|按|用|参照|参考|手动|登录|打开|放|运行|执行)|自行|[自己手]己?(?:动手|手动"
        r"|执行|运行|保存|提交|替换)"
        r"|[您你](?:可以|只需|需要|应该?)|(?:可以?|能)(?:这样|如下|发送|使用|写|用|调用|参考|直接|按)|如果?(?:要|想|需要|您|你)|复制|粘贴|保存(?:到|为|后|成"
        r"|一下)|[写放填贴]进|[写放填贴]到|加[入到]|替换|提交到|把(?:下面|以下|上面|这段|它|尖括号)",
    ),
    _signal(
        "comparison",
        2,
        r"\b(?:compar\w+|versus|vs\.?|not valid|invalid|is valid|wrong|incorrect|mistake|legal|difference"
        r"|correct (?:form|answer|spelling|one|call)|same (?:effect|result|meaning|thing)|equivalent|two"
        r" (?:ways|forms|spellings)|three (?:ways|forms)|both forms|either form|verdict|pass(?:es|ed)|fail(?:s"
        r"|ed)|grade\w*|score)\b",
        r"(?:效果|含义|意思|作用|结果)(?:相同|一样|一致)|等价|两种(?:写法|形式|方式|格式)|错误|不合法|合法|区别|不同|对比|比较|对照|正确(?:的)?(?:是|答案|写法)|误写"
        r"|缺少|改名|评分|得分|测评|评测|选项",
    ),
    _signal(
        "permission",
        4,
        r"\b(?:shall I|should I|do you (?:want|confirm|agree|approve|wish)|would you like|may I|can I go|is"
        r" (?:that|this) (?:ok\w*|right|correct|what)|please confirm|confirm (?:\w+ ){0,4}first|let me know"
        r" (?:if|whether|when)|want me to"
        r"|if you (?:agree|approve|say|confirm|want|like)|once you|before I (?:run|send|do|call|go|execute"
        r"|make)|with your (?:ok|approval|permission)|go ahead\?|waiting for your|reply (?:with"
        r" )?[\"'“]?(?:yes|ok|confirm|go)|(?:want|like) (?:me|us) to)",
        r"需要我|要不要|是否(?:需要|要|现在|继续|执行|确认|可以)|要我|可以吗|好吗|行吗|对吗|执行吗|请(?:您|你)?先?确认|确认(?:后|之后|无误)|确认一下|(?:跟|和|与|请|向"
        r"|需)[您你].{0,4}确认|回复.{0,12}(?:继续|执行|再)|再继续|[您你]同意|等[您你]|得到?[您你]",
    ),
    _signal(
        "announced",
        -2,
        r"\bI(?:'ll|’ll| will| am going to|'m going to|’m going to| need to| have to|'m|’m| am| can) (?!not\b"
        r"|explain|show|describe|illustrat|demonstrat|walk|clarify|summari|rephrase|quot|outline|paraphras"
        r"|refus|declin)\w+|\blet(?:'s| me| us)\b (?!explain|show|describe|illustrat|demonstrat|walk|clarify"
        r"|summari|rephrase|quot|outline|paraphras)|\b(?:calling|checking|looking|fetching|searching|querying"
        r"|running|sending|getting|trying|using|opening|reading|adding)\b"
        r"|\b(?:one|just a|a) (?:moment|second|sec|minute)\b|\bhold on\b|\bhere(?:'s| is| are| it) (?:the|my"
        r"|your|goes)?\b|\b(?:sure|okay|ok|certainly|of course|right away|got it|alright|understood|will do"
        r"|done)\b|\b(?:now|next|first|then|again)\b\W*$|\bnow (?:the|for|to|I|let|we)\b|\btool call\b",
        r"(?!我来(?:解释|说明|演示|举例|介绍|讲)|让我(?:解释|说明|演示|举例|介绍)|[给为帮][您你](?:解释|说明|演示|举例|介绍))(?:我(?:来|去|先|这就|马上|将|会|要"
        r"|需要|现在|再|得|帮|给|试|分|查|算|看)|让我|马上|正在|这就|稍等|稍候|请稍|好的|好[，,。！]|没问题|明白|收到[，。]|现在|接下来|首先|先(?:查|看|读|算|搜|用|调)"
        r"|帮[您你]|为[您你]|给[您你]|调用.{0,14}[:：]\s*$|开始|尝试|操作如下|步骤如下|计划如下)",
        where="lead",
    ),
    _signal(
        "waiting",
        -2,
        r"\b(?:please wait|one moment|just a (?:moment|second)|hold on|(?:is|are) being|will be (?:right|back"
        r"|executed|run|done)|running (?:it|this|the)|I(?:'ll|’ll| will) (?:\w+ ){0,3}(?:back|report|tell|let"
        r" you know|get)|coming up|on it)\b",
        r"正在|请稍[等候]|稍等|马上|依次执行|将会?(?:依次|为您|返回)|即将|已安排|查询中|处理中",
        where="tail",
    ),
)
AROUND = tuple(signal for signal in SIGNALS if signal.where == "around")
NEARBY = tuple(signal for signal in SIGNALS if signal.where != "around")
ANNOUNCED = next(signal.words for signal in SIGNALS if signal.name == "announced")

PLACEHOLDER = lazy_pattern(
    r"<[^<>/\n]{1,40}>|\{[^{}\n]{0,40}\}|\$\{\w+\}|\.{3,}|…+|[xX]{3,}|\?+|？+"
    r"|(?:your|YOUR|the|some|insert|enter)[_ \-][\w \-]{1,40}|[\w ]{1,30} (?:here|goes here)|[A-Z]{2,}(?:_[A-Z]+)+"
    r"|(?:参数|工具|函数)(?:名|值|名称)?|某\w{0,4}|(?:你|您|用户)的\w{1,10}|\w{0,6}(?:名称?|值|内容)(?:在此|这里)?|示例\w{0,8}|此处\w{0,10}"
    r"|待定|待填|港口名|城市名"
)
NAME_PLACEHOLDER = lazy_pattern(
    r"^(?:<.*>|\{.*\}|\.{3}|…|NAME|tool_?name|function_?name|your_.*|my_.*|x+|foo|bar|工具名称?|函数名称?|名字|名称)$",
    re.IGNORECASE,
)
