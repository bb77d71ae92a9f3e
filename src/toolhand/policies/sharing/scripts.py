"""The steps of `RedisState` as Lua scripts. Redis runs each without anything between, and gives the time.

Source: https://redis.io/docs/latest/develop/programmability/eval-intro/. Numbers go back as text, since Lua's would be cut
to integers.
"""

from __future__ import annotations

from typing import Final

_NOW: Final = """
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
"""

TAKE: Final = (
    _NOW
    + """
local wait = 0
for i, key in ipairs(KEYS) do
  local count, seconds = tonumber(ARGV[i * 2]), tonumber(ARGV[i * 2 + 1])
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.6f', now - seconds))
  local taken = redis.call('ZCARD', key)
  if taken >= count then
    local at = redis.call('ZRANGE', key, taken - count, taken - count, 'WITHSCORES')
    wait = math.max(wait, tonumber(at[2]) + seconds - now, 0.001)
  end
end
if wait == 0 then
  for i, key in ipairs(KEYS) do
    redis.call('ZADD', key, string.format('%.6f', now), ARGV[1])
    redis.call('PEXPIRE', key, math.ceil(tonumber(ARGV[i * 2 + 1]) * 1000))
  end
end
return string.format('%.6f', wait)
"""
)
"""KEYS: a sorted set for each window. ARGV: a name for the new place, then count and seconds for each window."""

ADMIT: Final = (
    _NOW
    + """
local line = redis.call('HMGET', KEYS[1], 'open_until', 'probe_until')
local open_until, probe_until = tonumber(line[1] or 0), tonumber(line[2] or 0)
if open_until == 0 then return {1, '0', ''} end
local waits_until = math.max(open_until, probe_until)
if now < waits_until then return {0, string.format('%.6f', waits_until - now), ''} end
local probe = ARGV[2] .. ':' .. redis.call('HINCRBY', KEYS[1], 'probes', 1)
redis.call('HSET', KEYS[1], 'probe_until', string.format('%.6f', now + tonumber(ARGV[1])), 'probe', probe)
return {1, '0', probe}
"""
)
"""KEYS: the circuit. ARGV: how long a probe may take, and this process' mark."""

SETTLE: Final = (
    _NOW
    + """
local measure, cooldown, probe, health = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local line = redis.call('HMGET', KEYS[1], 'failures', 'open_until', 'probe_until', 'probe')
local failures, open_until = tonumber(line[1] or 0), tonumber(line[2] or 0)
local probe_until = tonumber(line[3] or 0)
local before, until_before, probe_before = failures, open_until, probe_until
if probe ~= '' then
  if probe == line[4] and probe_until ~= 0 then
    probe_until = 0
    if health == 'well' then failures, open_until = 0, 0
    elseif health == 'ill' then failures, open_until = failures + 1, now + cooldown end
  end
elseif open_until == 0 then
  if health == 'well' then failures = 0
  elseif health == 'ill' then
    failures = failures + 1
    if failures >= measure then open_until = now + cooldown end
  end
end
if failures ~= before or open_until ~= until_before or probe_until ~= probe_before then
  redis.call('HSET', KEYS[1], 'failures', failures, 'open_until', string.format('%.6f', open_until),
    'probe_until', string.format('%.6f', probe_until))
  redis.call('PEXPIRE', KEYS[1], math.ceil((cooldown * 10 + 3600) * 1000))
end
local left = 0
if open_until ~= 0 then left = math.max(open_until - now, 0.001) end
return {failures, string.format('%.6f', left)}
"""
)
"""KEYS: the circuit. ARGV: its measure, its cooldown, the admission's probe, and "well", "ill" or "neither"."""

ENTER: Final = (
    _NOW
    + """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.6f', now))
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.6f', now + tonumber(ARGV[3])), ARGV[1])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIRE', KEYS[1], math.ceil((tonumber(last[2]) - now) * 1000) + 1000)
return 1
"""
)
"""KEYS: a sorted set of places by when they are free again. ARGV: the new place's name, how many there are, and its seconds."""

CLAIM: Final = (
    _NOW
    + """
local found = redis.call('GET', KEYS[1])
if not found then
  redis.call('SET', KEYS[1], string.format('+%.6f', now), 'PX', math.ceil(tonumber(ARGV[1]) * 1000))
  return false
end
if string.sub(found, 1, 1) == '+' then
  return {string.format('%.6f', now - tonumber(string.sub(found, 2))), found}
end
return {'0', found}
"""
)
"""KEYS: the errand. ARGV: how long it is remembered. A value that begins with "+" says when it was begun, "=" its result."""
