"""How much redaction finds, how much it masks by mistake, and how long it takes.

    python bench/redaction.py            measures on records made with a fresh seed, and on the stored ones
    python bench/redaction.py --write    makes the stored ones anew (tests/cases/policies)

The records are made up from templates of what tools give back: orders, logs, database rows, code, web pages. All numbers are
random; identity and card numbers get a right check digit, so they are valid but belong to nobody on purpose.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import sys
import time
import uuid
from pathlib import Path

from toolhand.policies.redaction import redacted

CASES = Path(__file__).parents[1] / "tests" / "cases" / "policies"
ALNUM = string.ascii_letters + string.digits


class Maker:
    """Random pieces of records, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *options):
        return self.random.choice(options)

    def digits(self, count, first="123456789"):
        return self.random.choice(first) + "".join(self.random.choices(string.digits, k=count - 1))

    def alnum(self, count, letters=ALNUM):
        # Real keys hold a digit in every place that matters; one is made sure of.
        made = self.random.choices(letters, k=count)
        if any(letter.isdigit() for letter in letters):
            made[self.random.randrange(count)] = self.random.choice(string.digits)
        return "".join(made)

    def hex(self, count):
        return "".join(self.random.choices("0123456789abcdef", k=count))

    def day(self):
        return f"20{self.random.randint(15, 26):02d}{self.random.randint(1, 12):02d}{self.random.randint(1, 28):02d}"

    def iso(self):
        day = self.day()
        return f"{day[:4]}-{day[4:6]}-{day[6:]}T{self.random.randint(0, 23):02d}:{self.random.randint(0, 59):02d}:09"

    def mobile(self):
        return "1" + self.random.choice("3456789") + self.digits(9, string.digits)

    def luhn(self, prefix, count):
        body = prefix + self.digits(count - len(prefix) - 1, string.digits)
        total = sum(
            (int(d) * 2 - 9 if int(d) > 4 else int(d) * 2) if place % 2 == 0 else int(d)
            for place, d in enumerate(reversed(body))
        )
        return body + str(-total % 10)

    def resident_id(self):
        region = self.pick("110101", "310115", "440305", "510104", "330106", "420111")
        year, month, day = (
            self.random.randint(1950, 2012),
            self.random.randint(1, 12),
            self.random.randint(1, 28),
        )
        body = f"{region}{year}{month:02d}{day:02d}{self.random.randint(1, 999):03d}"
        weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
        return body + "10X98765432"[sum(w * int(d) for w, d in zip(weights, body, strict=True)) % 11]

    def base64(self, count):
        return base64.b64encode(self.random.randbytes(count)).decode()

    def password(self):
        return self.alnum(5) + self.pick("!", "#", "$x", "_", "") + self.alnum(5)

    def local(self):
        return self.pick("zhang.san", "li_si", "wangwu", "j.smith", "anna+news", "bob") + self.digits(2)

    def groups(self, number, sizes, joint):
        parts, at = [], 0
        for size in sizes:
            parts.append(number[at : at + size])
            at += size
        return joint.join(part for part in parts if part)


def ordinary(m: Maker) -> list:
    """One record of each ordinary kind: nothing in it is a secret or a person's number."""
    n = m.random.randint
    return [
        f"订单号：{m.day()}{m.digits(10)}，共 {n(1, 9)} 件，合计 ¥{n(10, 9999)}.{n(10, 99)}",
        f"您的订单 {m.digits(18)} 已发货，运单号 {m.pick('SF', 'YT', 'JD', 'ZTO')}{m.digits(13)}，预计 {n(1, 12)} 月 {n(1, 28)} 日送达",
        {"order_no": m.digits(n(10, 20)), "amount": n(1, 99999) / 100, "status": "paid", "created_at": m.iso()},
        {"订单号": f"{m.day()}{m.digits(8)}", "数量": n(1, 99), "单价": f"{n(1, 999)}.00", "物流单号": m.digits(15)},
        {"order_id": int(m.digits(n(10, 16))), "user_id": int(m.digits(8)), "sku": m.digits(13)},
        {"tracking_number": m.digits(n(12, 15)), "carrier": "EMS", "weight_g": n(10, 9999)},
        f"Order {m.digits(n(10, 16))} shipped with tracking number {m.digits(12)}.",
        {"usage": {"prompt_tokens": n(1, 9999), "completion_tokens": n(1, 9999), "total_tokens": n(1, 99999)}},
        f"total_tokens: {n(100, 99999)}, max_tokens={n(100, 9999)}, token_count = {n(1, 999)}",
        {"max_tokens": n(100, 9999), "token_limit": 200000, "tokens": n(1, 9999), "cached_tokens": 0},
        {"next_page_token": m.alnum(24), "items": [n(1, 99) for _ in range(5)]},
        {"timestamp": 1_700_000_000 + n(0, 99_999_999), "timestamp_ms": 1_700_000_000_000 + n(0, 10**10)},
        f"[{m.iso()}.{n(100, 999)}Z] INFO request_id={uuid.UUID(int=m.random.getrandbits(128))} took {n(1, 999)} ms",
        f"ts=17{m.digits(17, string.digits)} event=page_view seq={m.digits(10)}",
        {"sha256": m.hex(64), "md5": m.hex(32), "size_bytes": int(m.digits(11))},
        f"commit {m.hex(40)}\nAuthor: CI\n\n    Fix rounding in invoices (#{n(100, 9999)})",
        {"id": str(uuid.UUID(int=m.random.getrandbits(128))), "parent": str(uuid.UUID(int=m.random.getrandbits(128)))},
        f"ping {n(1, 223)}.{n(0, 255)}.{n(0, 255)}.{n(1, 254)}: time={n(1, 99)} ms; fe80::{m.hex(4)}:{m.hex(4)} up",
        f"python {n(3, 4)}.{n(0, 14)}.{n(0, 9)}, torch=={n(1, 2)}.{n(0, 9)}.{n(0, 9)}+cu{n(110, 129)}, build {m.digits(10)}",
        {"price": f"{n(1, 99999)}.{n(10, 99)}", "currency": "CNY", "market_cap": int(m.digits(13)), "volume": int(m.digits(11))},
        f"ISBN 978-7-{n(100, 999)}-{n(10000, 99999)}-{n(0, 9)}；定价 {n(20, 99)}.00 元",
        {"isbn": f"9787{m.digits(9)}", "title": "算法导论", "pages": n(100, 1500)},
        {"ean": "40" + m.digits(11), "gtin": "69" + m.digits(11), "stock": n(0, 500)},
        f"客服电话 400-{n(100, 999)}-{n(1000, 9999)}，分机 {n(1000, 9999)}；总机 010-{m.digits(8)} 转 {n(100, 999)}",
        f"Call the front desk at ext. {n(1000, 99999)} or dial {n(100, 199)} for emergencies.",
        {"lat": n(-90_000_000, 90_000_000) / 1e6, "lng": 116 + n(1, 10**13) / 1e13, "alt": n(0, 9000)},
        f"坐标 {n(20, 50)}.{m.digits(14)}, {n(80, 130)}.{m.digits(14)}（WGS-84）",
        {"image": "data:image/png;base64," + m.base64(n(60, 300))},
        f"-----BEGIN CERTIFICATE-----\n{m.base64(90)}\n-----END CERTIFICATE-----",
        f"-----BEGIN PUBLIC KEY-----\n{m.base64(60)}\n-----END PUBLIC KEY-----",
        f"ssh-rsa {m.base64(120)} deploy",
        "SELECT id, token_count, password_changed_at FROM users WHERE created_at > '" + m.iso() + f"' LIMIT {n(1, 99)}",
        "CREATE TABLE t (id INT PRIMARY KEY, api_key VARCHAR(64), secret_name TEXT, sort_key INT)",
        'api_key = os.environ["SERVICE_API_KEY"]\nclient = Client(api_key=api_key)',
        "def login(username: str, password: str, token: str | None = None) -> Session: ...",
        "password = getpass.getpass('Password: ')\nif not check_password(password, user.password_hash): raise Denied",
        'headers = {"Authorization": f"Bearer {token}"}  # token comes from config.auth_token',
        "export API_KEY=<your-api-key>\nexport TOKEN=$GITHUB_TOKEN PASSWORD=${DB_PASSWORD}",
        "Error: password must be at least 8 characters; token: invalid or expired",
        "密码错误，请重试；密码：长度不能少于 8 位。忘记密码请点击“重置密码”。",
        f"Authentication failed: invalid token (attempt {n(1, 5)} of 5). The secret: practice every day.",
        {"password_policy": "min 12", "has_password": True, "token_type": "bearer", "expires_in": 3600, "secret_name": "db-main"},
        {"key": m.pick("city", "name", "orders/2024"), "value": m.pick("北京", "enabled", "42"), "keyboard": "qwerty"},
        {"primary_key": "id", "sort_key": "created_at", "partition_key": m.digits(6), "foreign_keys": ["user_id"]},
        f"PATH=/usr/bin:/bin HOME=/root LANG=zh_CN.UTF-8 PORT={n(1000, 9999)} SORT_KEY=name PUBLIC_KEY=pk.pem",
        f"https://shop.test/item?id={m.digits(12)}&page={n(1, 99)}&key=title&sort=price&page_token={m.alnum(12)}",
        f"https://cdn.test/{m.hex(32)}/logo@2x.png?v={m.digits(10)} git@github.com:org/repo.git npm i react@18.2.0",
        "postgres://db.test:5432/orders and http://localhost:8080/path and redis://cache:6379/0",
        f"设备 IMEI {m.pick('86', '35')}{m.digits(13)}，序列号 {m.alnum(12, string.ascii_uppercase + string.digits)}",
        f"发票号码 {m.digits(8)}，发票代码 {m.digits(12)}，税号 91{m.digits(6)}MA{m.alnum(8, string.ascii_uppercase + string.digits)}",
        f"交易流水号：{m.day()}{m.digits(20)}，批次 {m.day()}-{n(1, 99):03d}",
        {"transaction_id": f"4200{m.digits(24)}", "invoice": f"INV-{m.day()}-{m.digits(5)}", "qq": m.digits(10)},
        f"比分 3:2，第 {n(1, 38)} 轮；收视率 {n(1, 9)}.{n(10, 99)}%，人口 {n(1, 9)},{n(100, 999)},{n(100, 999)},{n(100, 999)}",
        f"population {m.digits(10)}; distance {m.digits(11)} km; mass 1.{m.digits(15)}e{n(10, 30)} kg; pi=3.14159265358979323846",
        f"{n(100, 199)} {n(1900, 2030)} {n(1900, 2030)} {n(1000, 9999)}\n{n(1, 99)} {n(1900, 2030)} {n(1900, 2030)} {n(1000, 9999)}",
        [[n(1, 10**9) for _ in range(4)] for _ in range(3)],
        "task-runner-configuration risk-assessment-2024 disk-usage-report sk-learn-contrib mask-token-index",
        f"docker.io/library/redis@sha256:{m.hex(64)} helm-chart-{n(1, 9)}.{n(0, 9)}.{n(0, 9)}",
        f"版本 v{n(1, 9)}.{n(0, 20)}.{n(0, 99)}-rc{n(1, 9)}+{m.day()} 构建号 {m.digits(11)}",
        f"MAC {':'.join(m.hex(2) for _ in range(6))} VIN LSV{m.alnum(14, string.ascii_uppercase + string.digits)} 车牌 京A{m.digits(5)}",
        "The key to success is practice. A token of thanks was given; the secret is out, and the cookie is eaten.",
        "钥匙在门口。口令是古代军营里用的。验证码已发送，请在 5 分钟内输入。联系我们请发邮件。",
        {"logprobs": [{"token": m.pick("hello", " world", "你好"), "logprob": -n(1, 99) / 10} for _ in range(3)]},
        f"第{n(1, 30)}届 一九九八年 二〇二四年三月 一三五七九 电话会议 {n(1, 12)}:00 手机型号 X{n(10, 99)} 屏幕 6.{n(1, 9)} 英寸",
        {"column": "phone", "type": "varchar(20)", "nullable": False, "ordinal": n(1, 30)},
        f"user {uuid.UUID(int=m.random.getrandbits(128)).hex} rated item {m.digits(n(6, 9))} with {n(1, 5)} stars at {m.digits(10)}",
        m.digits(n(10, 20)),
        f"{m.digits(n(12, 20))}",
        {"snowflake": int(m.pick("14", "15", "16", "17", "18") + m.digits(17)), "shard": n(0, 1023)},
        f'hash={hashlib.sha1(m.random.randbytes(8)).hexdigest()} etag="{m.hex(32)}" cursor={m.base64(12)}',
    ]  # fmt: skip


def labelled(m: Maker) -> list:  # noqa: PLR0915 - a list of kinds
    """One record of each kind that holds a secret: (the record, what must be gone, what must stay)."""
    pairs = []

    def add(record, gone, *kept):
        pairs.append((record, [gone] if isinstance(gone, str) else gone, list(kept)))

    number, card, mobile = (
        m.resident_id(),
        m.luhn(m.pick("622202", "621700", "623058"), m.pick(16, 19)),
        m.mobile(),
    )
    add(f"身份证号：{number}，住址北京", number, "住址北京")
    add(f"He gave his ID {number} at the desk", number, "at the desk")
    add({"name": "张三", "id_card": number, "age": 30}, number, "张三")
    add(
        {"note": f"实名信息 {m.groups(number, (6, 8, 4), ' ')} 已核验"},
        m.groups(number, (6, 8, 4), " "),
        "已核验",
    )
    add(f"证件号 {number[:17]}{'0' if number[17] != '0' else '1'}（未通过校验）", number[:17], "未通过校验")
    add(f"老身份证 {number[:6]}{number[8:17]} 已换新", number[:6] + number[8:17], "已换新")
    add(f"手机：{mobile}，备注：急", mobile, "备注：急")
    add(f"请拨打{mobile}联系", mobile, "联系")
    add(f"Phone +86 {m.groups(mobile, (3, 4, 4), ' ')} (home)", m.groups(mobile, (3, 4, 4), " "), "(home)")
    add(f"电话 {m.groups(mobile, (3, 4, 4), '-')}", m.groups(mobile, (3, 4, 4), "-"), "电话")
    add({"phone": int(mobile), "city": "上海"}, mobile, "上海")
    add({"contacts": [{"tel": mobile}, {"tel": m.mobile()}]}, mobile, "contacts")
    add(f"+86{mobile} 与 0086-{m.mobile()}", mobile)
    wide = mobile.translate(str.maketrans(string.digits, "０１２３４５６７８９"))
    add(f"手机号（全角）：{wide}。", wide, "全角")
    add("客户留言：" + f"我的号码{mobile}，谢谢", mobile, "谢谢")
    abroad = f"{m.digits(3)}-{m.digits(3)}-{m.digits(4)}"
    add(f"Call me: +1 {abroad} please", abroad, "please")
    add(f"卡号 {card} 尾款已付", card, "尾款已付")
    add({"bank_card": card, "bank": "工商银行"}, card, "工商银行")
    add(f"card {m.groups(card, (4, 4, 4, 4, 3), ' ')} ok", m.groups(card, (4, 4, 4, 4, 3), " "), "ok")
    visa, master, amex = m.luhn("4", 16), m.luhn(m.pick("51", "55"), 16), m.luhn("37", 15)
    add(f"Charged to {visa} on {m.iso()}", visa, "Charged to")
    add(f"paid by {m.groups(master, (4, 4, 4, 4), '-')}.", m.groups(master, (4, 4, 4, 4), "-"), "paid by")
    add({"payment": f"Amex {amex}"}, amex, "Amex")
    email = f"{m.local()}@{m.pick('example.com', 'mail.example.cn', 'corp.example.co.uk')}"
    add(f"邮箱{email}，请回复", email.split("@", maxsplit=1)[0], "请回复")
    add({"email": email, "name": "李四"}, email.split("@", maxsplit=1)[0], "李四")
    add(f"From: Bob <{email}>", email.split("@", maxsplit=1)[0], "From: Bob")
    for key, kept in (
        (f"sk-{m.alnum(48)}", "OpenAI"),
        (f"sk-proj-{m.alnum(40, ALNUM + '_-')}", "project"),
        (f"sk-ant-api03-{m.alnum(60, ALNUM + '_-')}", "Anthropic"),
        (f"ghp_{m.alnum(36)}", "GitHub"),
        (f"github_pat_{m.alnum(22)}_{m.alnum(59)}", "fine-grained"),
        (f"glpat-{m.alnum(20, ALNUM + '_-')}", "GitLab"),
        (f"AKIA{m.alnum(16, string.ascii_uppercase + string.digits)}", "AWS"),
        (f"AIza{m.alnum(35, ALNUM + '_-')}", "Google"),
        (f"xoxb-{m.digits(12)}-{m.digits(12)}-{m.alnum(24)}", "Slack"),
        (f"hf_{m.alnum(34)}", "Hugging Face"),
        (f"npm_{m.alnum(36)}", "npm"),
        (f"LTAI{m.alnum(20)}", "Aliyun"),
        (f"SG.{m.alnum(22)}.{m.alnum(43)}", "SendGrid"),
        (f"sk_live_{m.alnum(24)}", "Stripe"),
        (f"{m.hex(32)}.{m.alnum(15)}Q", "Zhipu"),
        (f"eyJhbGciOiJIUzI1NiJ9.eyJ{m.alnum(40)}.{m.alnum(43, ALNUM + '_-')}", "JWT"),
    ):
        add(
            m.pick(f"{kept}: the call with {key} failed", f"{kept}的密钥是{key}，请保密", f'{kept} "{key}"'),
            key,
            kept,
        )
    secret, key = m.password(), m.alnum(32)
    bearer, signature, code = m.alnum(40), m.hex(64), m.digits(6)
    add(f"Authorization: Bearer {bearer}", bearer, "Authorization")
    add(f"sent header 'bearer {bearer}' twice", bearer, "twice")
    add(
        f"connect postgres://svc:{secret.replace('#', '!')}@db.test:5432/订单 failed",
        secret.replace("#", "!"),
        "db.test:5432/订单",
        "svc",
    )
    add(f"redis://:{secret.replace('#', '')}@cache.test:6379/0", secret.replace("#", ""), "cache.test:6379/0")
    add(f"mongodb+srv://root:{key}@c0.test/app?retryWrites=true", key, "c0.test/app")
    add(f"503 for https://api.test/v1?key={key}&model=m", key, "503", "model=m")
    add(f"GET /data?user=5&access_token={key}&page=2 HTTP/1.1", key, "page=2")
    add(f"https://s3.test/a.csv?X-Amz-Signature={signature}&X-Amz-Expires=60", signature, "X-Amz-Expires=60")
    add(f"SERVICE_API_KEY={key} PATH=/bin", key, "PATH=/bin")
    add(f"export DB_PASSWORD='{secret}'\nexport PORT=80", secret, "PORT=80")
    add(f"GITLAB_TOKEN={key}\nLANG=C", key, "LANG=C")
    add({"env": [{"name": "DB_PASSWORD", "value": secret}, {"name": "PORT", "value": "80"}]}, secret, "80")
    add({"user": "bob", "password": secret, "role": "admin"}, secret, "bob", "admin")
    add({"config": {"apiKey": key, "region": "cn-north"}}, key, "cn-north")
    add({"accessKeySecret": key, "accessKeyId": "id-1"}, key, "id-1")
    add(f"密码：{secret}，请尽快修改", secret, "请尽快修改")
    add(f"初始口令是{secret}。", secret, "初始口令")
    add(f"登录成功，令牌: {key}", key, "登录成功")
    add(f'{{"username": "bob", "password": "{secret}", "n": 1}}', secret, "bob")
    add(f"mysql --user root --password={secret.replace('$', '')} -h db", secret.replace("$", ""), "-h db")
    add(f"Server=db;User Id=sa;Password={secret};Encrypt=true", secret, "Encrypt=true")
    add(f"您的验证码：{code}，5 分钟内有效", code, "5 分钟内有效")
    body = m.base64(300)
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    add(
        f"key file:\n-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----\nend",
        lines[:64],
        "end",
    )
    add(f"-----BEGIN PRIVATE KEY-----\n{lines[:128]}", lines[70:120])
    add(
        {"columns": ["name", "password"], "rows": [["bob", secret], ["amy", m.password()]]},
        secret,
        "bob",
        "amy",
    )
    add(f"Cookie: session={key}; theme=dark", key, "Cookie")
    return pairs


def text(value) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def measured(records, cases, name):
    """Prints and returns false masks and what was missed."""
    wrong = [record for record in records if redacted(record) != record]
    missed, spoiled, found, total = [], [], 0, 0
    for record, gone, kept in cases:
        seen = text(redacted(record))
        for part in gone:
            total += 1
            if part in seen:
                missed.append((part, record))
            else:
                found += 1
        spoiled += [(part, seen) for part in kept if part not in seen]
    print(
        f"{name}: {len(wrong)} of {len(records)} ordinary records masked by mistake; {found} of {total} secrets masked;"
    )
    print(f"  {len(spoiled)} records lost something that must stay")
    for record in wrong:
        print("  masked by mistake:", text(redacted(record))[:160])
    for part, record in missed:
        print("  missed:", part, "in", text(record)[:160])
    for part, seen in spoiled:
        print("  lost:", part, "in", seen[:160])
    return wrong, missed, spoiled


def timed() -> None:
    small = {"city": "北京", "temp": 21.5, "sky": "晴", "updated": "2024-01-01T12:00:00"}
    started = time.perf_counter()
    for _ in range(5000):
        redacted(small)
    print(f"a small result: {(time.perf_counter() - started) / 5000 * 1e6:.1f} µs")
    sentence = "It is sunny in Berlin today, 21 degrees. The key was in the door: nobody saw a token. "
    rows = [
        {"id": i, "order_no": f"2024{i:014d}", "name": "商品", "price": 9.5, "at": "2024-01-01T12:00:00"}
        for i in range(100_000)
    ]
    for name, value in (("English text", sentence * (10_000_000 // len(sentence))), ("100,000 rows", rows)):
        started = time.perf_counter()
        redacted(value)
        seconds = time.perf_counter() - started
        print(f"{name}: {len(text(value)) / 1e6:.1f} million characters in {seconds:.2f} s")


def stored(name):
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]


def write(name, lines) -> None:
    (CASES / name).write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
    )


def main() -> None:
    if "--write" in sys.argv:
        CASES.mkdir(parents=True, exist_ok=True)
        maker = Maker(20260101)
        write("ordinary.jsonl", [{"record": record} for _ in range(16) for record in ordinary(maker)])
        pairs = [pair for _ in range(4) for pair in labelled(maker)]
        write(
            "secrets.jsonl", [{"record": record, "gone": gone, "kept": kept} for record, gone, kept in pairs]
        )
    if (CASES / "ordinary.jsonl").exists():
        secrets = [(case["record"], case["gone"], case["kept"]) for case in stored("secrets.jsonl")]
        measured([case["record"] for case in stored("ordinary.jsonl")], secrets, "stored")
    maker = Maker(time.time_ns())
    fresh = [record for _ in range(32) for record in ordinary(maker)]
    measured(fresh, [pair for _ in range(8) for pair in labelled(maker)], "fresh")
    timed()


if __name__ == "__main__":
    main()
