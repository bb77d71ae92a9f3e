"""What every rule says, in English and Chinese. `{names}` in braces are a finding's facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's severity and words: what is wrong and what to do, in both languages."""

    severity: Literal["error", "warning", "advice"]
    en: str
    fix_en: str
    zh: str
    fix_zh: str


RULES: Final[dict[str, Rule]] = {
    "description-missing": Rule(
        "error",
        "'{tool}' has no description: a model can only guess from its name.",
        "Write a docstring: what it does, when to use it, what it gives.",
        "“{tool}”没有说明：模型只能凭名称猜测。",
        "写一段文档字符串：做什么、何时使用、返回什么。",
    ),
    "description-short": Rule(
        "warning",
        "the description of '{tool}' says hardly more than its name: \"{text}\".",
        "Say what it does, on what, and what it gives, in one or two sentences.",
        "“{tool}”的说明几乎只是重复了名称：“{text}”。",
        "用一两句话写清做什么、针对什么、返回什么。",
    ),
    "description-long": Rule(
        "advice",
        "the description of '{tool}' has {count} characters; a server may cut or refuse more than {most}.",
        "Keep what decides the choice of the tool; move details to the parameters.",
        "“{tool}”的说明有 {count} 个字符；超过 {most} 可能被服务端截断或拒绝。",
        "只保留决定是否选用该工具的内容，细节移到参数说明中。",
    ),
    "verb-vague": Rule(
        "advice",
        "'{tool}' is described by the verb \"{verb}\", which says nothing of what happens.",
        "Use the verb of its effect: finds, creates, converts, sends.",
        "“{tool}”的说明用了“{verb}”，看不出实际会发生什么。",
        "改用表达效果的动词：查询、创建、转换、发送。",
    ),
    "name-vague": Rule(
        "warning",
        "the name '{tool}' does not say what the tool does.",
        "Name it by verb and object, such as get_order_status.",
        "名称“{tool}”看不出工具的用途。",
        "用“动词＋对象”命名，例如 get_order_status。",
    ),
    "name-refused": Rule(
        "advice",
        "the name '{tool}' is refused by providers: the model will see '{wire}'.",
        "Name it with letters, digits and underscores, at most 64: @tool(name=…).",
        "名称“{tool}”不被服务商接受：模型看到的将是“{wire}”。",
        "用字母、数字和下划线命名，最多 64 个字符：@tool(name=…)。",
    ),
    "docstring-stale": Rule(
        "warning",
        "the docstring of '{tool}' describes '{name}', which is not one of its parameters.",
        "Remove the entry, or correct its name.",
        "“{tool}”的文档字符串描述了不存在的参数“{name}”。",
        "删除该条目，或改正名称。",
    ),
    "result-unsaid": Rule(
        "advice",
        "'{tool}' does not say what it gives back.",
        "Add a Returns section, or a type with fields for the result.",
        "“{tool}”没有说明返回什么。",
        "补充 Returns（返回）小节，或用带字段的类型作为返回值。",
    ),
    "parameter-undescribed": Rule(
        "warning",
        "the parameter '{name}' of '{tool}' has no description.",
        "Describe it in the docstring, with an example value.",
        "“{tool}”的参数“{name}”没有说明。",
        "在文档字符串中说明它，并给出示例值。",
    ),
    "parameter-vague": Rule(
        "warning",
        "the parameter '{name}' of '{tool}' could be anything by its name.",
        "Name it by its meaning, such as order_id or city.",
        "“{tool}”的参数名“{name}”看不出含义。",
        "按含义命名，例如 order_id 或 city。",
    ),
    "parameter-misnamed": Rule(
        "warning",
        "the parameter '{name}' of '{tool}' sounds like {sounds}, but is {meant}.",
        "Rename it after what it takes; keep the old name with aliases={{…}} where models know it.",
        "“{tool}”的参数“{name}”听起来是 {sounds}，实际却是 {meant}。",
        "按实际含义改名；若模型已熟悉旧名，用 aliases={{…}} 保留。",
    ),
    "parameter-untyped": Rule(
        "warning",
        "the parameter '{name}' of '{tool}' takes a value of any type.",
        "Give it a type.",
        "“{tool}”的参数“{name}”可以是任何类型的值。",
        "给它标注类型。",
    ),
    "arguments-open": Rule(
        "warning",
        "'{tool}' takes arguments that are not named: a model will invent some.",
        "Name the parameters one by one instead of **kwargs.",
        "“{tool}”接受未声明的参数：模型会自行编造。",
        "逐个声明参数，不要用 **kwargs。",
    ),
    "object-open": Rule(
        "advice",
        "the parameter '{name}' of '{tool}' is an object whose keys are not named.",
        "Use a model, dataclass or TypedDict with the keys that it may have.",
        "“{tool}”的参数“{name}”是没有声明键的对象。",
        "改用声明了键的模型、dataclass 或 TypedDict。",
    ),
    "parameters-many": Rule(
        "warning",
        "'{tool}' has {count} parameters; small models lose some of more than {most}.",
        "Group what belongs together in an object, give defaults, or split the tool.",
        "“{tool}”有 {count} 个参数；超过 {most} 个时小模型容易遗漏。",
        "把相关参数合成对象、给出默认值，或拆分工具。",
    ),
    "nesting-deep": Rule(
        "warning",
        "the parameters of '{tool}' are {depth} levels deep.",
        "Flatten them to {most} levels or fewer.",
        "“{tool}”的参数嵌套了 {depth} 层。",
        "压平到不超过 {most} 层。",
    ),
    "options-in-words": Rule(
        "warning",
        "the parameter '{name}' of '{tool}' lists its options only in words: \"{text}\".",
        "Use Literal[…] or an Enum, so that no other value can be sent.",
        "“{tool}”的参数“{name}”只在文字里列出选项：“{text}”。",
        "改用 Literal[…] 或 Enum，使其他值无法传入。",
    ),
    "date-format-unsaid": Rule(
        "warning",
        "the parameter '{name}' of '{tool}' is a date or time in text without a format.",
        "Use datetime.date or datetime.datetime, or name the format, such as YYYY-MM-DD.",
        "“{tool}”的参数“{name}”是文本形式的日期或时间，但没有说明格式。",
        "使用 datetime.date 或 datetime.datetime，或写明格式，例如 YYYY-MM-DD。",
    ),
    "unit-unsaid": Rule(
        "warning",
        "the parameter '{name}' of '{tool}' is a quantity without a unit.",
        'Put the unit into the name or the description, such as weight_kg or "in metres".',
        "“{tool}”的参数“{name}”是数量，但没有单位。",
        "在名称或说明中写明单位，例如 weight_kg 或“单位：米”。",
    ),
    "parameter-negated": Rule(
        "advice",
        "the parameter '{name}' of '{tool}' is true when something is not: models turn it round.",
        "Say it positively, such as include_archived=True.",
        "“{tool}”的参数“{name}”以真表示“否”：模型容易弄反。",
        "改为正面表述，例如 include_archived=True。",
    ),
    "action-parameter": Rule(
        "warning",
        "'{tool}' does {count} errands by its parameter '{name}': which other parameters each of them needs cannot be told.",
        "Make a tool of each action.",
        "“{tool}”用参数“{name}”承担了 {count} 种操作：无法说明每种操作需要哪些参数。",
        "为每种操作各建一个工具。",
    ),
    "effect-unsaid": Rule(
        "error",
        "'{tool}' seems to change something (\"{verb}\"), but is declared to read only: it may be retried and called in doubt.",
        'Declare @tool(effect="writes") or "destroys"; if it only reads, use another word.',
        "“{tool}”看起来会修改数据（“{verb}”），但声明为只读：它可能被重试或在存疑时被调用。",
        '声明 @tool(effect="writes") 或 "destroys"；如果确实只读，请换一个词。',
    ),
    "effect-mild": Rule(
        "advice",
        "'{tool}' seems to remove something for good (\"{verb}\"), but is declared to write only.",
        'Declare @tool(effect="destroys") where it cannot be undone.',
        "“{tool}”看起来会永久删除内容（“{verb}”），但只声明为写入。",
        '如果无法撤销，请声明 @tool(effect="destroys")。',
    ),
    "secret-in-default": Rule(
        "error",
        "the schema of '{tool}' holds a secret at '{name}', and every model and log would see it.",
        "Read it in the function, from the environment or by Injected(…), and change the secret.",
        "“{tool}”的 schema 在“{name}”处包含密钥，所有模型和日志都会看到。",
        "在函数内部读取（环境变量或 Injected(…)），并更换该密钥。",
    ),
    "secret-asked": Rule(
        "error",
        "'{tool}' asks the model for a secret, '{name}': it would have to be told one, or invent it.",
        "Mark it Injected(…), so that the program fills it.",
        "“{tool}”向模型索要密钥“{name}”：只能告诉它，或由它编造。",
        "用 Injected(…) 标注，由程序填入。",
    ),
    "identity-asked": Rule(
        "warning",
        "'{tool}' lets the model say who the user is, by '{name}': it could act for somebody else.",
        'Mark it Injected("user_id"); if another person is meant, say so in the name, such as employee_id.',
        "“{tool}”让模型通过“{name}”指定当前用户是谁：可能冒用他人身份。",
        '用 Injected("user_id") 标注；若指的是另一个人，请在名称中写明，例如 employee_id。',
    ),
    "provider-quirk": Rule(
        "advice",
        "the schema of '{tool}' cannot be sent whole to {forms}: {note}.",
        "Use a simpler type there, if these providers matter to you.",
        "“{tool}”的 schema 无法完整发送给 {forms}：{note}。",
        "如果需要支持这些服务商，请改用更简单的类型。",
    ),
    "names-confusable": Rule(
        "warning",
        "the names '{tool}' and '{other}' are nearly the same.",
        "Name the difference, such as get_order and list_orders.",
        "名称“{tool}”与“{other}”几乎相同。",
        "在名称中体现区别，例如 get_order 与 list_orders。",
    ),
    "descriptions-equal": Rule(
        "error",
        "'{tool}' and '{other}' have the same description: a model cannot choose between them.",
        "Say in each what sets it apart, and when to use the other.",
        "“{tool}”与“{other}”的说明完全相同：模型无法在两者间选择。",
        "分别写明各自的特点，以及何时使用另一个。",
    ),
    "descriptions-alike": Rule(
        "warning",
        "'{tool}' and '{other}' read alike ({share:.0%} of their weight in words is the same).",
        "Say in each what sets it apart, and when to use the other.",
        "“{tool}”与“{other}”读起来很像（用词重合 {share:.0%}）。",
        "分别写明各自的特点，以及何时使用另一个。",
    ),
    "tools-too-fine": Rule(
        "advice",
        "{names} take the same parameters and differ in one word: they may be one tool.",
        "Make one tool with a parameter that names the part, such as field: Literal[…].",
        "{names} 参数相同、只差一个词：也许应合成一个工具。",
        "合成一个工具，用参数指明部分，例如 field: Literal[…]。",
    ),
    "parameters-named-apart": Rule(
        "advice",
        "the same thing is called {names} in different tools.",
        "Use one name everywhere.",
        "同一个东西在不同工具里分别叫 {names}。",
        "统一使用一个名称。",
    ),
    "tools-many": Rule(
        "advice",
        "there are {count} tools: models choose worse among more than {most}, and each request carries all of them.",
        "Show only those that matter: Agent(…, choose=10), or filter the toolset.",
        "共有 {count} 个工具：超过 {most} 个时模型更容易选错，而且每次请求都要带上全部工具。",
        "只展示相关的工具：Agent(…, choose=10)，或筛选工具集。",
    ),
}
"""By id, in the order of the documentation."""
