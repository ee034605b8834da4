"""cuad as its clients see it, run by `front_stage`: sessions, actions, commands, files, terminals."""
import hashlib
import json
import os
import statistics
import sys
import threading
import time

from cuad import Connection, Rpc, Socket, call

S = os.environ["CUAD_SESSION"]
BASE = f"/v1/sessions/{S}"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def error(answer, status, kind):
    assert answer[0] == status, answer[:3:2]
    assert answer[2]["error"]["kind"] == kind, answer[2]
    return answer[2]["error"]


def run(command, **more):
    status, _, data = call("POST", BASE + "/exec", {"command": command, **more})
    assert status == 200, data
    return data


# ---------------------------------------------------------------- sessions

@test
def sessions_are_found_by_id_name_and_prefix():
    for word in (S, "first", S[:4], S[:1]):
        status, _, data = call("GET", f"/v1/sessions/{word}")
        assert status == 200 and data["id"] == S, data
    assert data["state"] == "running" and data["usage"] == {
        "cpu_ms": 12, "memory": 34, "disk": 56, "pids": 78}, data
    assert data["limits"]["cpus"] == 2 and data["created"] == "2026-01-31T12:00:00.000Z", data
    error(call("GET", "/v1/sessions/nosuch"), 404, "not_found")
    status, _, data = call("GET", "/v1/sessions")
    assert status == 200 and [s["id"] for s in data["sessions"]] == [S], data


@test
def sessions_are_created_listed_changed_and_removed():
    spec = {"name": "two", "title": "Zwei ☃", "labels": {"team": "web"}, "ttl": "8h",
            "screen": "1024x768@120", "network": "none", "limits": {"cpus": 0.5, "memory": "1G"}}
    status, _, data = call("POST", "/v1/sessions", spec)
    assert status == 201 and data["state"] == "running" and data["title"] == "Zwei ☃", data
    assert data["screen"] == {"width": 1024, "height": 768, "dpi": 120}, data
    assert data["network"] == "none" and data["limits"]["cpus"] == 0.5 and data["expires"], data
    error(call("POST", "/v1/sessions", {"name": "two"}), 409, "conflict")
    status, _, data = call("GET", "/v1/sessions?label=team=web")
    assert [s["name"] for s in data["sessions"]] == ["two"], data
    status, _, data = call("PATCH", "/v1/sessions/two",
                           {"labels": {"team": None, "run": "7"}, "title": "x", "ttl": None})
    assert status == 200 and data["labels"] == {"run": "7"}, data
    assert data["title"] == "x" and data["expires"] is None, data
    error(call("PATCH", "/v1/sessions/two", {"name": "three"}), 422, "invalid")
    assert call("DELETE", "/v1/sessions/two")[0] == 204
    error(call("GET", "/v1/sessions/two"), 404, "not_found")
    error(call("DELETE", "/v1/sessions/two"), 404, "not_found")


@test
def bad_specs_are_refused_and_name_the_key():
    for spec, status, kind, key in (
            ({"colour": 1}, 400, "bad_request", "colour"),
            ({"limits": {"cpu": 1}}, 400, "bad_request", "limits.cpu"),
            ({"name": "A"}, 422, "invalid", "name"),
            ({"name": "a" * 33}, 422, "invalid", "name"),
            ({"screen": "10x10"}, 422, "invalid", "screen"),
            ({"screen": 5}, 400, "bad_request", "screen"),
            ({"limits": {"memory": "4X"}}, 422, "invalid", "limits.memory"),
            ({"ttl": "8"}, 422, "invalid", "ttl"),
            ({"network": {"allow": ["a"]}}, 422, "invalid", "network"),
            ({"gpu": "any"}, 422, "invalid", "gpu"),
            ({"mounts": [{"source": "/"}]}, 422, "invalid", "mounts"),
            ({"env": {"A B": "1"}}, 422, "invalid", "env"),
            ({"command": []}, 422, "invalid", "command"),
            ({"template": "missing"}, 404, "not_found", None)):
        told = error(call("POST", "/v1/sessions", spec), status, kind)
        assert key is None or key in json.dumps(told["detail"]), (spec, told)
    error(call("POST", "/v1/sessions", "{"), 400, "bad_request")
    error(call("POST", "/v1/sessions", "[]"), 400, "bad_request")
    told = error(call("POST", "/v1/sessions", {"template": "broken"}), 500, "internal")
    assert "it is broken" in told["message"], told
    left = call("GET", "/v1/sessions?state=failed")[2]["sessions"]
    assert len(left) == 1 and left[0]["reason"] == "it is broken", left
    assert call("DELETE", f"/v1/sessions/{left[0]['id']}")[0] == 204


@test
def a_session_that_does_not_run_yet():
    status, _, data = call("POST", "/v1/sessions?wait=0", {"template": "slow", "name": "slow"})
    assert status == 201 and data["state"] == "starting", data
    told = error(call("POST", "/v1/sessions/slow/exec", {"command": "true"}), 409, "conflict")
    assert "starting" in told["message"], told
    assert call("DELETE", "/v1/sessions/slow")[0] == 204


@test
def sockets_close_when_their_session_is_gone():
    assert call("POST", "/v1/sessions?wait=0", {"template": "slow", "name": "slow"})[0] == 201
    rpc = Rpc("slow")
    assert call("DELETE", "/v1/sessions/slow")[0] == 204
    assert rpc.receive() == 1001
    rpc.close()


@test
def the_ttl_ends_a_session():
    events = Socket("/v1/events", "cua.events.v1")
    assert events.json()["session"]["id"] == S
    status, _, data = call("POST", "/v1/sessions?wait=0", {"template": "slow", "ttl": "300ms"})
    assert status == 201, data
    while True:
        event = events.json()
        if event["gone"] and event["session"]["id"] == data["id"]:
            break
    events.close()


# ---------------------------------------------------------------- actions

@test
def actions_over_http():
    status, _, data = call("POST", BASE + "/actions", {"action": "click", "x": 5, "y": 6})
    assert status == 200 and data["effect"] == "changed" and data["changed"] == [[1, 2, 3, 4]], data
    frame = data["frame"]
    status, _, data = call("POST", BASE + "/actions",
                           {"action": "click", "x": 5, "y": 6, "screenshot": True})
    assert data["frame"] == frame + 1 and data["screenshot"]["mime"] == "image/png", data
    status, _, data = call("POST", BASE + "/actions", [
        {"action": "move", "x": 1, "y": 1}, {"action": "screenshot", "format": "jpeg"}])
    assert status == 200 and len(data) == 2 and data[1]["mime"] == "image/jpeg", data
    told = error(call("POST", BASE + "/actions", [
        {"action": "move", "x": 1, "y": 1}, {"action": "move", "x": 5555, "y": 1},
        {"action": "move", "x": 2, "y": 1}]), 422, "out_of_screen")
    assert told["detail"]["index"] == 1 and len(told["detail"]["results"]) == 1, told
    error(call("POST", BASE + "/actions", {"action": "clack"}), 400, "bad_request")
    error(call("POST", BASE + "/actions", {"action": "move", "x": "1", "y": 1}), 400, "bad_request")
    error(call("POST", BASE + "/actions", {"action": "move", "x": 1}), 400, "bad_request")
    error(call("POST", BASE + "/actions", {"action": "batch", "actions": [
        {"action": "batch", "actions": [{"action": "screen_size"}]}]}), 422, "invalid")
    error(call("POST", "/v1/sessions/nosuch/actions", {"action": "click"}), 404, "not_found")


@test
def screenshots_have_etags():
    status, answer, data = call("GET", BASE + "/screenshot?format=jpeg&region=0,0,10,10&cursor=1")
    assert status == 200 and answer.getheader("content-type") == "image/jpeg", data
    assert data.startswith(b"PICTURE "), data
    tag = answer.getheader("etag")
    status, answer, data = call("GET", BASE + "/screenshot", headers={"If-None-Match": tag})
    assert status == 304 and data == b"" and answer.getheader("etag") == tag, (status, data)
    call("POST", BASE + "/actions", {"action": "click"})
    assert call("GET", BASE + "/screenshot", headers={"If-None-Match": tag})[0] == 200
    error(call("GET", BASE + "/screenshot?format=gif"), 422, "invalid")
    error(call("GET", BASE + "/screenshot?quality=500"), 422, "invalid")


@test
def rpc_answers_and_refuses():
    rpc = Rpc("first")
    assert b"cua.rpc.v1" in rpc.head
    assert rpc.call("move", x=1, y=2)["result"]["effect"] == "changed"
    assert rpc.call("move", x=5555, y=2)["error"]["data"]["kind"] == "out_of_screen"
    assert rpc.call("move", x=5555, y=2)["error"]["code"] == -32000
    assert rpc.call("fly")["error"]["code"] == -32601
    assert rpc.call("move", x=1)["error"]["code"] == -32602
    assert rpc.call("move", x=1, y=2, z=3)["error"]["code"] == -32602
    for text, code in (("{", -32700), ("nonsense", -32700), ("5", -32600), ("\x00", -32700), ("[]", -32600),
                       ("[1]", -32600), ('{"id":1}', -32600), ('{"jsonrpc":"2.0","id":{}}', -32600),
                       ('{"jsonrpc":"2.0","id":1,"method":"move","params":[1]}', -32602)):
        rpc.send(text)
        answer = rpc.json()
        answer = answer[0] if isinstance(answer, list) else answer
        assert answer["error"]["code"] == code, (text, answer)
    rpc.send("[" + "0," * 600000 + "0]")
    assert rpc.json()["error"]["message"] == "the message has too many values"
    error(call("POST", BASE + "/actions", "[" + "0," * 600000 + "0]"), 413, "too_large")
    rpc.send(b"binary", 2)
    assert rpc.json()["error"]["code"] == -32700
    rpc.send('{"jsonrpc":"2.0","method":"move","params":{"x":1,"y":1}}')  # a notification
    rpc.send('{"jsonrpc":"2.0","method":"fly"}')
    assert rpc.call("screen_size")["id"] == rpc.serial
    rpc.send([{"jsonrpc": "2.0", "id": "a", "method": "move", "params": {"x": 1, "y": 1}},
              {"jsonrpc": "2.0", "method": "move", "params": {"x": 1, "y": 1}},
              {"jsonrpc": "2.0", "id": "b", "method": "exec", "params": {"command": "echo hi"}}, 5])
    answers = rpc.json()
    assert {a["id"] for a in answers} == {"a", "b", None}, answers
    rpc.close()


@test
def rpc_gives_pictures_as_bytes():
    rpc = Rpc(S)
    for method, where in (("screenshot", lambda r: r), ("click", lambda r: r["screenshot"])):
        more = {"screenshot": {"format": "webp"}} if method == "click" else {}
        rpc.post(method, binary=True, **more)
        message = rpc.receive()
        assert isinstance(message, bytes), message
        size = int.from_bytes(message[:4], "big")
        head = json.loads(message[4:4 + size])
        assert head["id"] == rpc.serial
        picture = where(head["result"])
        assert picture["bytes"] == len(message) - 4 - size and "data" not in picture, head
        assert message[4 + size:].startswith(b"PICTURE "), message
    frame = picture["frame"]
    assert rpc.call("screenshot", if_changed_since=frame)["result"]["unchanged"] is True
    assert rpc.call("screenshot")["result"]["data"] != ""
    rpc.close()


@test
def rpc_keeps_the_order_of_what_is_ordered():
    rpc = Rpc(S)
    slow = rpc.post("wait", ms=300)
    after = rpc.post("type", text="x")
    quick = rpc.post("exec", command="true")
    ids = [rpc.json()["id"] for _ in range(3)]
    assert ids == [quick, slow, after], ids
    frames = []
    for _ in range(200):  # more than may be unanswered at once
        rpc.post("move", x=1, y=1)
    for _ in range(200):
        frames.append(rpc.json()["result"]["frame"])
    assert frames == sorted(frames) and len(set(frames)) == 200
    rpc.close()


@test
def a_lease_ends_with_its_connection():
    rpc = Rpc(S)
    before = rpc.call("cursor_position")["result"]["x"]
    other = Rpc(S)
    other.call("key_down", key="a")
    other.post("wait", ms=60000)  # still being performed when the connection ends
    other.post("type", text="never")
    other.close()
    until = time.monotonic() + 10
    while rpc.call("cursor_position")["result"]["x"] == before:
        assert time.monotonic() < until
    assert rpc.call("cursor_position")["result"]["shape"] != "never"
    rpc.close()


@test
def a_silent_client_holds_nothing_that_it_asked_for_before():
    rpc, silent = Rpc(S), Rpc(S)
    before = rpc.call("cursor_position")["result"]["x"]
    begin = time.monotonic()
    silent.post("wait", ms=16000)  # it is taken for silent after 7 to 14 s
    silent.post("key_down", key="shift")

    def ended():
        return rpc.call("cursor_position")["result"]["x"] - before
    while time.monotonic() < begin + 15:
        rpc.call("wait", ms=200)  # answers pings
        ended()
    assert ended() == 1
    until = begin + 20
    while ended() < 3:  # after the wait and after the press
        assert time.monotonic() < until, ended()
        rpc.call("wait", ms=200)
    for _ in range(2):
        assert "result" in silent.json()
    silent.call("key_down", key="shift")  # now it is heard again
    rpc.call("wait", ms=100)
    assert ended() == 3
    silent.close()
    rpc.close()


@test
def everybody_may_do_what_the_role_says():
    port = int(os.environ["CUAD_PORT"])
    status, _, data = call("POST", "/v1/sessions", {"name": "other"})
    assert status == 201, data
    tokens = {}
    for role, session in (("viewer", S), ("agent", S), ("agent", data["id"]), ("operator", None)):
        body = {"role": role, **({"session": session} if session else {})}
        status, _, made = call("POST", "/v1/tokens", body)
        assert status == 201, made
        tokens[role, session] = made["token"]

    def ask(who, method, path, body=None):
        return call(method, path, body, {"Authorization": f"Bearer {tokens[who]}"}, port)[0]

    viewer, agent, stranger = ("viewer", S), ("agent", S), ("agent", data["id"])
    operator = ("operator", None)
    click, shot = {"action": "click"}, {"action": "screen_size"}
    assert call("GET", BASE, port=port)[0] == 401
    for who, expected in ((viewer, 403), (agent, 200), (stranger, 404), (operator, 200)):
        assert ask(who, "POST", BASE + "/actions", click) == expected, who
        assert ask(who, "POST", BASE + "/exec", {"command": "true"}) == expected, who
        assert ask(who, "GET", BASE + "/files/etc/passwd") == expected, who
    for who, expected in ((viewer, 200), (agent, 200), (stranger, 404), (operator, 200)):
        assert ask(who, "POST", BASE + "/actions", shot) == expected, who
        assert ask(who, "GET", BASE + "/screenshot") == expected, who
        assert ask(who, "GET", BASE) == expected, who
    for who, expected in ((viewer, 403), (agent, 403), (stranger, 403)):
        assert ask(who, "POST", "/v1/sessions", {}) == expected
        assert ask(who, "DELETE", BASE) == expected
    assert Socket(BASE + "/pty", port=port, token=tokens[viewer]).status == 403
    assert Socket(BASE + "/rpc", port=port, token=tokens[stranger]).status == 404
    assert Socket("/v1/sessions/nosuch/rpc").status == 404
    rpc = Rpc(S, port=port, token=tokens[viewer])
    assert rpc.call("click")["error"]["data"]["kind"] == "forbidden"
    told = rpc.call("batch", actions=[shot, click])["error"]["data"]
    assert told["kind"] == "forbidden" and told["detail"]["index"] == 1, told
    rpc.close()
    status, _, listed = call("GET", "/v1/sessions", None,
                             {"Authorization": f"Bearer {tokens[stranger]}"}, port)
    assert [s["name"] for s in listed["sessions"]] == ["other"], listed
    assert call("DELETE", "/v1/sessions/other")[0] == 204
    assert ask(stranger, "GET", "/v1/sessions/other") == 401  # its token went with it


# ---------------------------------------------------------------- commands

@test
def exec_tells_all():
    data = run("echo out; echo err >&2; exit 3")
    assert data["exit_code"] == 3 and data["signal"] is None, data
    assert data["stdout"] == "out\n" and data["stderr"] == "err\n", data
    assert data["stdout_bytes"] == 4 and data["truncated"] is False, data
    assert data["timed_out"] is False and data["duration_ms"] > 0, data
    assert run(["echo", "a b", "", "c\nd", "ü"])["stdout"] == "a b  c\nd ü\n"
    assert run("cat", stdin="x" * 300000)["stdout_bytes"] == 300000
    assert run("cat")["stdout"] == ""
    assert run("true", stdin="x" * 10000000)["exit_code"] == 0
    assert run("echo abc", max_output=0)["stdout_bytes"] == 4
    assert run("kill -9 $$")["signal"] == 9
    assert run("printf '%s' \"$A-$B\"", env={"A": "1", "B": "ü"})["stdout"] == "1-ü"
    assert run("pwd", cwd="/var")["stdout"] == "/var\n"
    assert run("id -un")["stdout"] == "agent\n" and run("id -u", user="root")["stdout"] == "0\n"
    assert run("printf '\\377'")["stdout_b64"] == "/w=="
    error(call("POST", BASE + "/exec", {"command": ["/nosuch"]}), 404, "not_found")
    error(call("POST", BASE + "/exec", {"command": ["/etc/passwd"]}), 403, "forbidden")
    error(call("POST", BASE + "/exec", {}), 400, "bad_request")
    error(call("POST", BASE + "/exec", {"command": []}), 422, "invalid")


@test
def exec_cuts_the_middle_of_too_much():
    data = run("seq 1000000", max_output=1000)
    whole = "".join(f"{i}\n" for i in range(1, 1000001))
    assert data["stdout_bytes"] == len(whole) and data["truncated"] is True, data
    assert data["stdout"] == whole[:500] + whole[-500:], data
    assert data["stdout_cut_at"] == 500
    data = run("yes | head -c 100000000")
    assert data["stdout_bytes"] == 100000000 and len(data["stdout"]) == 1 << 20
    data = run("for i in $(seq 1000); do printf 'ü€😀'; done", max_output=101)
    assert set(data["stdout"]) == {"ü", "€", "😀"} and data["stdout_bytes"] == 9000, data


@test
def exec_ends_with_the_command():
    begun = time.monotonic()
    data = run("sleep 61 & echo x")
    assert data["stdout"] == "x\n" and time.monotonic() - begun < 2, data
    begun = time.monotonic()
    data = run("(yes & ) ; echo y")
    assert data["stdout"].startswith("y") or "y\n" in data["stdout"]
    assert time.monotonic() - begun < 2
    run("pkill yes; pkill sleep; true")
    begun = time.monotonic()
    data = run("sh -c 'sleep 62 & sleep 62'; echo no", timeout=300)
    assert data["timed_out"] is True and data["signal"] == 9 and data["exit_code"] is None, data
    assert 0.25 < time.monotonic() - begun < 3
    assert run("pgrep -x -f 'sleep 62'")["exit_code"] == 1


@test
def a_long_command_holds_nothing_up():
    thread = threading.Thread(target=run, args=("sleep 2",))
    thread.start()
    begun = time.monotonic()
    assert call("GET", BASE + "/screenshot")[0] == 200
    assert time.monotonic() - begun < 0.5
    thread.join()


@test
def exec_is_quick():
    rpc = Rpc(S)
    times = []
    for _ in range(300):
        begun = time.monotonic()
        assert rpc.call("exec", command=["true"])["result"]["exit_code"] == 0
        times.append((time.monotonic() - begun) * 1000)
    print(f"  exec true: median {statistics.median(times):.2f} ms, "
          f"p95 {sorted(times)[285]:.2f} ms")
    rpc.close()


@test
def many_commands_at_once():
    rpc = Rpc(S)
    for i in range(64):
        rpc.post("exec", command=f"sleep 0.2; echo {i}")
    got = sorted(int(rpc.json()["result"]["stdout"]) for _ in range(64))
    assert got == list(range(64))
    rpc.close()


@test
def launch_leaves_it_running():
    rpc = Rpc(S)
    pid = rpc.call("launch", command=["sleep", "63"])["result"]["pid"]
    assert run(f"kill -0 {pid} && kill {pid}")["exit_code"] == 0
    assert rpc.call("launch", command=["/nosuch"])["error"]["data"]["kind"] == "not_found"
    rpc.close()


# ---------------------------------------------------------------- files

@test
def file_actions():
    rpc = Rpc(S)
    result = rpc.call("file_write", path="/tmp/a/b.txt", text="ä\n", mkdirs=True,
                      mode="0600")["result"]
    assert result == {"size": 3}, result
    assert rpc.call("file_append", path="/tmp/a/b.txt", data_b64="/w==")["result"] == {"size": 4}
    assert rpc.call("file_read", path="/tmp/a/b.txt")["result"] == {
        "size": 4, "eof": True, "data_b64": "w6QK/w=="}
    assert rpc.call("file_read", path="/tmp/a/b.txt", length=3)["result"] == {
        "size": 4, "eof": False, "text": "ä\n"}
    assert rpc.call("file_read", path="/tmp/a/b.txt", encoding="text")[
        "error"]["data"]["kind"] == "invalid"
    stat = rpc.call("file_stat", path="/tmp/a/b.txt")["result"]
    assert stat["type"] == "file" and stat["size"] == 4 and stat["mode"] == "0600", stat
    entries = rpc.call("file_list", path="/tmp/a")["result"]["entries"]
    assert [e["name"] for e in entries] == ["b.txt"], entries
    assert rpc.call("file_mkdir", path="/tmp/a/c/d", mkdirs=True)["result"] == {}
    assert rpc.call("file_move", path="/tmp/a/b.txt", destination="/tmp/a/c/e")["result"] == {}
    assert rpc.call("file_remove", path="/tmp/a")["error"]["data"]["kind"] == "conflict"
    assert rpc.call("file_remove", path="/tmp/a", recursive=True)["result"] == {}
    assert rpc.call("file_stat", path="/tmp/a")["error"]["data"]["kind"] == "not_found"
    assert rpc.call("file_write", path="/tmp/x")["error"]["data"]["kind"] == "bad_request"
    big = "0123456789abcdef" * 65536 * 4
    assert rpc.call("file_write", path="/tmp/big", text=big)["result"]["size"] == len(big)
    assert rpc.call("file_read", path="/tmp/big")["result"]["text"] == big
    for path, kind in (("/nosuch/x", "not_found"), ("/usr/x", "forbidden")):
        told = rpc.call("file_write", path=path, text=big)["error"]
        assert told["data"]["kind"] == kind, told
    assert rpc.call("file_remove", path="/tmp/big")["result"] == {}
    rpc.close()


@test
def files_of_any_size_over_http():
    class Zeros:
        def __init__(self, left):
            self.left, self.digest = left, hashlib.sha256()

        def read(self, size=-1):
            part = min(self.left, 1 << 20)
            self.left -= part
            data = os.urandom(1) * part
            self.digest.update(data)
            return data

    size = 200 << 20
    source = Zeros(size)
    status, _, data = call("PUT", BASE + "/files/tmp/new/huge?mkdirs=1&mode=0640", source,
                           {"Content-Length": str(size)})
    assert status == 200 and data == {"size": size}, data
    connection = Connection()
    connection.request("GET", BASE + "/files/tmp/new/huge")
    answer = connection.getresponse()
    assert answer.status == 200 and answer.getheader("content-length") == str(size)
    digest = hashlib.sha256()
    while chunk := answer.read(1 << 20):
        digest.update(chunk)
    connection.close()
    assert digest.digest() == source.digest.digest()
    status, answer, _ = call("HEAD", BASE + "/files/tmp/new/huge")
    assert status == 200 and answer.getheader("content-length") == str(size), status
    assert call("GET", BASE + "/files/tmp/new/huge?stat")[2]["mode"] == "0640"
    assert len(call("GET", BASE + "/files/tmp/new?list")[2]["entries"]) == 1
    error(call("DELETE", BASE + "/files/tmp/new"), 409, "conflict")
    assert call("DELETE", BASE + "/files/tmp/new?recursive")[0] == 200
    error(call("GET", BASE + "/files/tmp/new"), 404, "not_found")
    error(call("GET", BASE + "/files/tmp"), 422, "invalid")
    error(call("PUT", BASE + "/files/nosuch/x", b"x" * 1000000), 404, "not_found")
    status, _, data = call("GET", BASE + "/files/proc/version")
    assert status == 200 and data.startswith(b"Linux"), data
    status, _, data = call("PUT", BASE + "/files/tmp/empty", b"")
    assert status == 200 and call("GET", BASE + "/files/tmp/empty")[2] == b"", data


@test
def a_transfer_that_is_cut_leaves_nothing():
    connection = Connection()
    connection.putrequest("PUT", BASE + "/files/tmp/half")
    connection.putheader("Content-Length", "1000000")
    connection.endheaders()
    connection.send(b"x" * 1000)
    connection.sock.close()
    connection = Connection()
    connection.putrequest("PUT", BASE + "/files/tmp/half")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    connection.send(b"3\r\nabc\r\nno number\r\n")
    assert connection.getresponse().status == 400
    run("yes | head -c 50000000 >/tmp/large")
    connection = Connection()
    connection.request("GET", BASE + "/files/tmp/large")
    connection.getresponse().read(10)
    connection.sock.close()
    until = time.monotonic() + 10
    while any(x in run("ls -A /tmp")["stdout"] for x in ("half", ".cuad-")):
        assert time.monotonic() < until, run("ls -A /tmp")
    run("rm /tmp/*")


# ---------------------------------------------------------------- terminals

def start(**what):
    pty = Socket(BASE + "/pty", "cua.pty.v1")
    pty.send(what)
    return pty


def collect(pty):
    out = {1: [], 2: []}
    while True:
        message = pty.receive()
        if isinstance(message, str):
            assert pty.receive() == 1000
            pty.close()
            return b"".join(out[1]), b"".join(out[2]), json.loads(message)
        out[message[0]].append(message[1:])


@test
def pty_carries_streams():
    pty = start(command="cat; echo err >&2; exit 4")
    blob = os.urandom(3000000)

    def feed():
        for i in range(0, len(blob), 50000):
            pty.send(b"\x00" + blob[i:i + 50000], 2)
        pty.send({"eof": True})

    feeder = threading.Thread(target=feed)
    feeder.start()
    out, err, last = collect(pty)
    feeder.join()
    assert out == blob and err == b"err\n" and last == {"exit_code": 4}, (len(out), err, last)
    assert collect(start(command=["sh", "-c", "kill -15 $$"]))[2] == {"signal": 15}
    last = collect(start(command=["/nosuch"]))[2]
    assert last["error"]["kind"] == "not_found", last
    assert collect(start(command=["sleep", "64"], timeout=100))[2] == {
        "signal": 9, "timed_out": True}
    assert "error" in collect(start(nonsense=1))[2]
    pty = start(command=["sleep", "65"])
    pty.send({"signal": "INT"})
    assert collect(pty)[2] == {"signal": 2}


@test
def pty_is_a_terminal():
    pty = start(command="stty size; read line; echo \"got $line\"; stty size", tty=True,
                columns=100, rows=30)
    seen = b""
    while b"30 100" not in seen:
        seen += pty.receive()[1:]
    pty.send({"resize": [90, 20]})
    pty.send(b"\x00hello\r", 2)
    out, _, last = collect(pty)
    assert b"got hello" in out and b"20 90" in out and last == {"exit_code": 0}, (out, last)


@test
def pty_ends_when_the_client_leaves():
    pty = start(command="echo ready; sleep 66", tty=True)
    while b"ready" not in pty.receive():
        pass
    pty.close()
    pty = start(command=["sh", "-c", "trap '' HUP; echo ready; sleep 67"])
    while b"ready" not in pty.receive():
        pass
    pty.close()
    until = time.monotonic() + 15
    while run("pgrep -f 'sleep 6[67]'")["exit_code"] == 0:
        assert time.monotonic() < until


@test
def pty_waits_for_a_slow_reader():
    pty = start(command="yes 0123456789 | head -c 30000000")
    run("sleep 1")  # this end reads nothing meanwhile; nothing may be lost or kept in memory
    out, _, last = collect(pty)
    assert len(out) == 30000000 and last == {"exit_code": 0}, (len(out), last)


# ---------------------------------------------------------------- the rest

@test
def templates_and_metrics():
    status, _, data = call("GET", "/v1/templates")
    assert status == 200 and data == {"templates": []}, data
    error(call("GET", "/v1/templates/x"), 404, "not_found")
    status, _, data = call("POST", "/v1/templates", {"recipe": "base"})
    lines = [json.loads(line) for line in data.decode().splitlines()]
    assert [x.get("progress") for x in lines[:3]] == ["step 1", "step 2", "step 3"], lines
    assert "template" in lines[3], lines
    status, _, data = call("POST", "/v1/templates", {"recipe": "broken"})
    assert json.loads(data.decode().splitlines()[-1])["error"]["message"] == "it broke", data
    error(call("POST", "/v1/templates", {"recipe": "missing"}), 404, "not_found")
    data = call("POST", "/v1/templates", {"recipe": "base", "force": True})[2]
    assert json.loads(data.decode().splitlines()[0])["progress"] == "step 1 again", data
    for body in ({}, {"recipe": 5}, {"recipe": "base", "force": 1}, {"recipe": "base", "colour": 1}):
        error(call("POST", "/v1/templates", body), 400, "bad_request")
    assert call("DELETE", "/v1/templates/base")[0] == 204
    status, _, data = call("GET", "/metrics")
    assert b'cuad_sessions{state="running"} 1' in data, data
    assert b'cuad_actions_total{action="exec"}' in data


def main():
    wanted = sys.argv[1:]
    failed = 0
    for function in TESTS:
        if wanted and function.__name__ not in wanted:
            continue
        begun = time.monotonic()
        try:
            function()
            verdict = "ok"
        except Exception as problem:  # pylint: disable=broad-except
            failed += 1
            verdict = "FAILED"
            import traceback
            traceback.print_exc()
            del problem
        print(f"{verdict:6} {time.monotonic() - begun:6.2f} s  {function.__name__}", flush=True)
    return 1 if failed else 0


sys.exit(main())
