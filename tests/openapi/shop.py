"""A FastAPI app with what such apps have: nested and cyclic models, every kind of parameter, forms, uploads, secrets."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import Body, Cookie, Depends, FastAPI, File, Form, Header, HTTPException, Query, UploadFile
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.security import APIKeyHeader, HTTPBasic, HTTPBasicCredentials, HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials
from pydantic import BaseModel, Field

app = FastAPI(title="商店", version="1.0")

KEY, TOKEN, PASSWORD = "key-4f1c9a77", "token-77e2b0c4d9", "pa55-word-long"


class Colour(StrEnum):
    red = "red"
    blue = "blue"


class Part(BaseModel):
    """A part, which may be made of parts."""

    name: str
    weight: float | None = Field(None, ge=0, description="in grams")
    parts: list[Part] = []


class Card(BaseModel):
    kind: Literal["card"]
    number: str


class Cash(BaseModel):
    kind: Literal["cash"]


class Order(BaseModel):
    item: str = Field(min_length=1)
    pieces: int = Field(1, ge=1, le=99)
    colour: Colour = Colour.red
    day: dt.date | None = None
    payment: Annotated[Card | Cash, Field(discriminator="kind")] = Cash(kind="cash")


orders: dict[int, dict[str, Any]] = {}


@app.get("/items", tags=["items"])
async def list_items(
    q: str | None = None,
    colours: Annotated[list[Colour] | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    x_request_id: Annotated[str | None, Header()] = None,
    mood: Annotated[str | None, Cookie()] = None,
) -> dict[str, Any]:
    """Lists items that match."""
    return {"q": q, "colours": colours, "limit": limit, "request": x_request_id, "mood": mood}


@app.get("/files/{path:path}", tags=["items"])
async def read_file(path: str) -> str:
    return path


@app.post("/orders", tags=["orders"], status_code=201)
async def create_order(order: Order) -> dict[str, Any]:
    """Places an order."""
    number = len(orders) + 1
    orders[number] = order.model_dump(mode="json")
    return {"number": number, **orders[number]}


@app.get("/orders/{number}", tags=["orders"])
async def get_order(number: int) -> dict[str, Any]:
    if number not in orders:
        raise HTTPException(404, f"没有订单 {number}")
    return orders[number]


@app.delete("/orders/{number}", tags=["orders"], status_code=204)
async def delete_order(number: int) -> Response:
    orders.pop(number, None)
    return Response(status_code=204)


@app.put("/parts/{part_id}", tags=["parts"])
async def put_part(part_id: str, part: Part, note: Annotated[str, Body()] = "") -> dict[str, Any]:
    return {"id": part_id, "part": part.model_dump(), "note": note}


@app.post("/login", tags=["forms"])
async def login(name: Annotated[str, Form()], code: Annotated[int, Form()] = 0) -> dict[str, Any]:
    return {"name": name, "code": code}


@app.post("/upload", tags=["forms"])
async def upload(file: Annotated[UploadFile, File()], title: Annotated[str, Form()]) -> dict[str, Any]:
    return {"title": title, "content": (await file.read()).decode()}


@app.get("/key", tags=["secrets"])
async def with_key(
    key: Annotated[str, Depends(APIKeyHeader(name="X-API-Key", scheme_name="shopKey"))],
) -> Any:
    return {"right": key == KEY, "echo": key}


@app.get("/token", tags=["secrets"])
async def with_token(
    token: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer(scheme_name="shopToken"))],
) -> Any:
    if token.credentials != TOKEN:
        raise HTTPException(403, f"wrong token {token.credentials}")
    return {"right": True}


@app.get("/basic", tags=["secrets"])
async def with_password(
    user: Annotated[HTTPBasicCredentials, Depends(HTTPBasic(scheme_name="shopBasic"))],
) -> Any:
    return {"right": (user.username, user.password) == ("wang", PASSWORD)}


@app.get("/text", tags=["answers"])
async def plain() -> PlainTextResponse:
    return PlainTextResponse("价格 ￥30")


@app.get("/picture", tags=["answers"])
async def picture() -> Response:
    return Response(b"\x89PNG\r\n\x1a\n" + bytes(100), media_type="image/png")


@app.get("/busy", tags=["answers"])
async def busy() -> JSONResponse:
    return JSONResponse({"title": "Busy", "detail": "come back later"}, 503, {"Retry-After": "7"})


@app.get("/old", tags=["answers"], deprecated=True)
async def old() -> str:
    return "old"
