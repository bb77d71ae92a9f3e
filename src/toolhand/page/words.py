"""The page's words in both languages: English and Chinese beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolhand.core.language import Language

WORDS: Final[Mapping[str, tuple[str, str]]] = {
    # the frame
    "sessions": ("Sessions", "会话"),
    "approvals": ("Approvals", "批准"),
    "drift": ("Drift", "漂移"),
    "evaluations": ("Evaluations", "评测"),
    "skip": ("Skip to the content", "跳到正文"),
    "pages": ("Pages", "页面"),
    "other_language": ("中文", "English"),
    "logout": ("Log out", "退出登录"),
    "fresh": ("There is news: show it", "有新内容：显示"),
    # logging in
    "login": ("Log in", "登录"),
    "login_words": (
        "The token is the one that the server was started with. Your name stands in the audit beside what you decide.",
        "令牌是启动服务时设置的。你的名字会和你的决定一起记入审计。",
    ),
    "token": ("Token", "令牌"),
    "your_name": ("Your name", "你的名字"),
    "wrong_token": ("This is not the token.", "令牌不正确。"),
    "too_often": ("Too many tries: wait a minute.", "尝试次数过多：请等一分钟。"),
    # the list of sessions
    "search": ("Search", "搜索"),
    "search_words": ("Words that were said", "对话中的词"),
    "user": ("user", "用户"),
    "no_sessions": ("No sessions yet", "还没有会话"),
    "no_sessions_words": (
        "A run with a session's name appears here: Agent(…).run(…, session=\"alice\"), or toolhand chat.",
        '带会话名称的运行会显示在这里：Agent(…).run(…, session="alice")，或 toolhand chat。',
    ),
    "nothing_found": ("Nothing was found", "没有找到"),
    "nothing_found_words": ("All words must occur in one message.", "所有词必须出现在同一条消息里。"),
    "older": ("Older", "更早"),
    "newest": ("Newest", "最新"),
    "messages": ("{0} messages", "{0} 条消息"),
    "message_count": ("messages", "消息数"),
    "untitled": ("(nothing said)", "（没有内容）"),
    "nobody": ("no user", "无用户"),
    "role_user": ("user", "用户"),
    "role_assistant": ("model", "模型"),
    # how things stand
    "state_finished": ("finished", "已完成"),
    "state_running": ("running", "运行中"),
    "state_waiting": ("waits for approval", "等待批准"),
    "state_unfinished": ("unfinished", "未完成"),
    # a session and its runs
    "run": ("Run", "运行"),
    "older_runs": ("Older runs", "更早的运行"),
    "newest_runs": ("Newest runs", "最新的运行"),
    "answered": ("Answer", "回答"),
    "began": ("began", "开始于"),
    "took": ("took", "用时"),
    "turns": ("turns", "轮数"),
    "calls": ("calls", "调用数"),
    "tokens": ("tokens", "token"),
    "tokens_long": ("{0} in, {1} out", "输入 {0}，输出 {1}"),
    "cached": ("{0} from the cache", "缓存 {0}"),
    "cost": ("cost", "费用"),
    "timeline": ("Timeline", "时间线"),
    "turn_number": ("Turn {0}", "第 {0} 轮"),
    "model": ("model", "模型"),
    "pause": ("pause", "暂停"),
    "legend_model": ("model", "模型"),
    "legend_tool": ("tool", "工具"),
    "legend_held": ("held: limits, waits, earlier attempts", "等待：限流、排队、先前的尝试"),
    "legend_error": ("failed", "失败"),
    "legend_waiting": ("waits for a person", "等待人工"),
    "told_model": ("Told the model", "告诉模型"),
    "go_on": ("Go on with this run", "继续这次运行"),
    "go_on_words": (
        "This run did not come to its end. Going on uses what is there, and repeats no call that may have had its effect.",
        "这次运行没有完成。继续时会使用已有的结果，不会重复可能已经生效的调用。",
    ),
    "elsewhere": (
        "Nothing in this process can go on with it: do it where its agent is, or with toolhand chat -s NAME.",
        "本进程无法继续：请在它的智能体所在的程序里继续，或使用 toolhand chat -s 名称。",
    ),
    "resume_failed": ("It could not go on: {0}", "无法继续：{0}"),
    # a call
    "wrote": ("The model wrote", "模型原文"),
    "sent": ("Sent by the model's server", "模型服务发来的参数"),
    "understood": ("Understood", "理解为"),
    "arguments": ("Arguments", "参数"),
    "edited": ("Changed by a person", "由人修改为"),
    "mended": ("Mended", "修正"),
    "nothing_mended": ("Nothing had to be mended.", "无需修正。"),
    "result": ("Result", "结果"),
    "no_result": ("No result yet.", "还没有结果。"),
    "no_arguments": ("none", "无"),
    "not_kept": ("not kept", "未保存"),
    "untrusted": ("written by strangers", "由外部书写"),
    "remark": ("Said to the model with it", "同时告诉模型"),
    "fallback": ("asked instead: {0}", "改用：{0}"),
    "attempts": ("{0} attempts", "尝试 {0} 次"),
    "lost": ("its process ended in the midst of it", "执行途中进程中断"),
    "lost_again": ("its process ended in the midst of it; started again", "执行途中进程中断，已重新启动"),
    "step_of": ("step of {0}", "{0} 的步骤"),
    "by": ("by {0}", "由 {0}"),
    "exception": ("raised {0}", "抛出 {0}"),
    "hint": ("Hint", "提示"),
    "effect_reads": ("reads", "读取"),
    "effect_writes": ("writes", "写入"),
    "effect_destroys": ("destroys", "删除"),
    "outcome_ok": ("ok", "成功"),
    "decision_allowed": ("allowed", "放行"),
    "decision_approved": ("approved", "已批准"),
    "decision_edited": ("approved with changes", "修改后批准"),
    "decision_denied": ("not permitted", "无权限"),
    "decision_rejected": ("denied", "已拒绝"),
    "decision_pending": ("waits for approval", "等待批准"),
    "decision_overtaken": ("overtaken by a new message", "已被新消息取代"),
    "decision_held_back": ("held back", "被拦下"),
    "decision_invalid": ("could not be used", "无法使用"),
    "decided_approve": ("approved", "批准"),
    "decided_deny": ("denied", "拒绝"),
    "decided_edit": ("approved with changes", "修改后批准"),
    # what happened on the way to a reply
    "told_model_retried": ("The model's server was asked again after {wait} s: {why}", "{wait} 秒后重新请求模型服务：{why}"),
    "told_model_replaced": ("{from} failed and {to} was asked instead", "{from} 失败，改用 {to}"),
    "told_stepped": ("Protocol changed from {from} to {to}: {why}", "协议从 {from} 换为 {to}：{why}"),
    "told_asked_again": ("The reply was doubtful ({why}) and the model was asked further", "回复可疑（{why}），又问了模型一次"),
    "told_limit": ("A limit was reached: {why}", "达到上限：{why}"),
    "told_call_retried": ("tried again after {wait} s: {why}", "{wait} 秒后重试：{why}"),
    # approvals
    "no_approvals": ("Nothing waits for a person", "没有等待批准的调用"),
    "no_approvals_words": (
        "A call of a tool with approval=True stops its run and appears here.",
        "带 approval=True 的工具被调用时，运行会停下，并显示在这里。",
    ),
    "approve": ("Approve", "批准"),
    "deny": ("Deny", "拒绝"),
    "reason": ("Reason, for the model", "给模型的理由"),
    "edit": ("Change the arguments", "修改参数"),
    "approve_edited": ("Approve with these arguments", "按此参数批准"),
    "arguments_json": ("All arguments, as JSON", "全部参数（JSON）"),
    "masked_words": ("What is masked stays as it is unless you write something else.", "被遮盖的值保持原样，除非你另写。"),
    "may_have_run": (
        "The program was stopped during this call: it may have had its effect already.",
        "程序在这次调用过程中被停止：它可能已经生效。",
    ),
    "waiting_since": ("waits since {0}", "等待自 {0}"),
    "noted": (
        "Noted. It counts as soon as the run is gone on with: where its agent is, or with toolhand chat -s NAME.",
        "已记录。运行继续时生效：在它的智能体所在的程序里，或使用 toolhand chat -s 名称。",
    ),
    "decided": ("Decided. The run goes on.", "已决定，运行继续。"),
    "worker_goes_on": (
        "A worker goes on with the run as soon as one is free (toolhand worker).",
        "有空闲的 worker（toolhand worker）时会继续这次运行。",
    ),
    "going_on": ("The run goes on.", "运行继续。"),
    "not_json_at": (
        "These arguments are no JSON object: see line {0}, column {1}.",
        "参数不是 JSON 对象：请检查第 {0} 行第 {1} 列。",
    ),
    "not_json": ("These arguments are no JSON object: {0}", "参数不是 JSON 对象：{0}"),
    "gone": ("This call waits no more: it was decided, or its run has gone on.", "这个调用已不再等待：已有决定，或运行已继续。"),
    # drift
    "no_drift": ("No drift was logged", "没有漂移记录"),
    "no_drift_words": (
        "TOOLHAND_DRIFT_LOG names the file in which replies are kept that could be read only with liberties.",
        "环境变量 TOOLHAND_DRIFT_LOG 指定文件，用于保存需要修正才能读懂的回复。",
    ),
    "patterns": ("Patterns", "模式"),
    "pattern": ("pattern", "模式"),
    "count": ("count", "次数"),
    "newest_replies": ("Newest replies", "最新的回复"),
    "problems": ("Problems", "问题"),
    "time": ("time", "时间"),
    "protocol": ("protocol", "协议"),
    # evaluations
    "no_evaluations": ("No evaluations yet", "还没有评测"),
    "no_evaluations_words": (
        "toolhand eval run CASES judges models; its reports appear here.",
        "用 toolhand eval run 用例 评测模型；报告会显示在这里。",
    ),
    "passed": ("passed", "通过"),
    "compare": ("Compare with", "与之比较"),
    "alone": ("nothing", "不比较"),
    "show": ("Show", "显示"),
    # errors
    "not_found": ("This page is not here", "页面不存在"),
    "not_found_words": ("It may have been removed.", "它可能已被删除。"),
    "refused": ("This request was refused", "请求被拒绝"),
    "refused_words": (
        "The form is out of date or was sent from elsewhere: go back, load the page anew and try again.",
        "表单已过期或来自其他网站：请返回，重新加载页面后再试。",
    ),
    "failed": ("The store cannot be read", "无法读取存储"),
}  # fmt: skip


def word(key: str, language: Language, *values: object, **named: object) -> str:
    """One of the words.

    Args:
        key: which.
        language: in which language.
        values: what stands in its gaps.
        named: the same by name.
    """
    text = WORDS[key][language == "zh"]
    return text.format(*values, **named) if values or named else text
