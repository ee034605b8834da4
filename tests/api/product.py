"""The whole product for a test: installs the build into a directory, runs the service on it with its own
state, and talks to it as users do. Needs root. Run inside a network namespace of its own."""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import websocket

SOURCE = pathlib.Path(os.environ["CUAD_SOURCE"])
STAGE = pathlib.Path(os.environ["CUAD_STAGE"])
TEMPLATES = pathlib.Path(os.environ.get("CUAD_TEMPLATES", "/var/lib/cuad/templates"))


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def wait_until(check, what, seconds=30):
    """Polls a condition outside our processes that has no event; the deadline is the test."""
    deadline = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {seconds} s")
        select.select([], [], [], 0.02)


class Service:
    """One running service."""

    def __init__(self, config=""):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cuad-test-", dir="/var/tmp"))
        self.dir.chmod(0o755)
        self.state = self.dir / "state"
        self.run = pathlib.Path("/run") / self.dir.name
        (self.state / "templates").mkdir(parents=True)
        subprocess.run(["mount", "--bind", TEMPLATES, self.state / "templates"], check=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.config = self.dir / "cuad.yaml"
        self.config.write_text(
            f"listen: [{{address: 127.0.0.1, port: {self.port}}}]\ndefault_template: base\n{config}")
        self.config.chmod(0o644)
        self.socket = str(self.run / "cuad.sock")
        self.log = open(self.dir / "log", "ab")
        self.process = None
        self.env = dict(os.environ, CUAD_SOCKET=self.socket, CANARY="canary-of-the-environment")
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def options(self):
        return ["--libexec", str(STAGE / "libexec/cuad"), "--data", str(STAGE / "share/cuad"),
                "--state", str(self.state), "--run", str(self.run), "--config", str(self.config)]

    def start(self):
        self.process = subprocess.Popen(
            [STAGE / "libexec/cuad/cuad-supervisor", *self.options()],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, env=self.env)
        wait_until(self.healthy, "the service answering")

    def healthy(self):
        if self.process.poll() is not None:
            raise AssertionError("the service ended:\n" + self.log_tail())
        try:
            return self.http("GET", "/v1/health", unix=True)[0] == 200
        except OSError:
            return False

    def log_tail(self):
        self.log.flush()
        return (self.dir / "log").read_text(errors="replace")[-4000:]

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def kill(self, *names):
        """kill -9 of these of our programs; the session's own processes are not among them."""
        for name in names:
            for pid in self.pids(name):
                with contextlib.suppress(ProcessLookupError): # it may end with the one killed before
                    os.kill(pid, signal.SIGKILL)
        if "cuad-supervisor" in names:
            self.process.wait(20)

    def pids(self, name):
        """Processes of this service by their program."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                ours = entry.name.isdigit() and (entry / "comm").read_text().strip() == name and \
                    os.readlink(entry / "ns/net") == os.readlink("/proc/self/ns/net" if name != "cuad-desktop" else entry / "ns/net")
                if ours and (name != "cuad-desktop" or self.is_child(entry)):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def is_child(self, entry):
        """True for a process whose parent is our supervisor: the worker has a network namespace of its own."""
        return int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == self.process.pid

    def close(self):
        try:
            self.ctl("rm", "--all", check=False)
            self.stop()
        finally:
            subprocess.run([STAGE / "libexec/cuad/cuad-supervisor", *self.options(), "--halt"],
                           stdout=self.log, stderr=self.log)
            subprocess.run(["umount", self.state / "templates"], check=False)
            self.log.close()
            log = (self.dir / "log").read_text(errors="replace")
            if os.environ.get("CUAD_SHOW_LOG"):
                print(log)
            subprocess.run(["umount", "-l", self.run / "sessions"], check=False, stderr=subprocess.DEVNULL)
            if not os.path.ismount(self.state / "templates"):
                shutil.rmtree(self.dir, ignore_errors=True)
            shutil.rmtree(self.run, ignore_errors=True)
        report = re.search(r"^.*(Sanitizer|runtime error: ).*(?:\n.*){0,40}", log, re.M)
        assert not report, report[0]

    # ---- ways to talk ----

    def http(self, method, path, body=None, token=None, unix=False, headers=None, raw=False):
        """Status and parsed answer (or bytes); over the control socket or TCP."""
        connection = UnixConnection(self.socket) if unix else http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=60)
        sent = dict(headers or {})
        if token:
            sent["Authorization"] = f"Bearer {token}"
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, data, sent)
        answer = connection.getresponse()
        content = answer.read()
        self.last_headers = dict(answer.getheaders())
        connection.close()
        if raw or not content or "json" not in answer.headers.get("Content-Type", ""):
            return answer.status, content
        return answer.status, json.loads(content)

    def api(self, method, path, body=None, status=None, **more):
        """Over the control socket, checking the status."""
        got, answer = self.http(method, path, body, unix=True, **more)
        if status is None:
            assert 200 <= got < 300, (method, path, got, answer)
        else:
            assert got == status, (method, path, got, answer)
        return answer

    def token(self, role="operator", session=None):
        spec = {"role": role}
        if session:
            spec["session"] = session
        return self.api("POST", "/v1/tokens", spec)["token"]

    def rpc(self, session, token=None):
        return Rpc(self, session, token or self.token())

    def launch(self, **spec):
        return self.api("POST", "/v1/sessions", spec)

    def ctl(self, *args, check=True, input=None, timeout=120, text=True):
        run = subprocess.run([STAGE / "bin/cuactl", *map(str, args)], env=self.env, input=input,
                             stdin=None if input is not None else subprocess.DEVNULL,
                             capture_output=True, text=text, timeout=timeout)
        if check:
            assert run.returncode == 0, (args, run.returncode, run.stdout, run.stderr)
        return run

    def action(self, session, action, status=None, **params):
        return self.api("POST", f"/v1/sessions/{session}/actions", {"action": action, **params}, status)


class RpcError(Exception):
    def __init__(self, error):
        super().__init__(str(error))
        self.code = error["code"]
        self.kind = (error.get("data") or {}).get("kind")
        self.message = error["message"]


class Rpc:
    """JSON-RPC over the public WebSocket."""

    def __init__(self, service, session, token):
        self.socket = websocket.create_connection(
            f"ws://127.0.0.1:{service.port}/v1/sessions/{session}/rpc",
            header=[f"Authorization: Bearer {token}"], subprotocols=["cua.rpc.v1"], timeout=30)
        self.serial = 0
        self.early = {}

    def send(self, method, **params):
        self.serial += 1
        self.socket.send(json.dumps(
            {"jsonrpc": "2.0", "id": self.serial, "method": method, "params": params}))
        return self.serial

    def receive(self, serial):
        while serial not in self.early:
            answer = json.loads(self.socket.recv())
            # what cannot be parsed has no id
            self.early[serial if answer.get("id") is None else answer["id"]] = answer
        answer = self.early.pop(serial)
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    def __call__(self, method, **params):
        return self.receive(self.send(method, **params))

    def close(self):
        self.socket.close()


def session_ids(service):
    """All sessions that this service has ever had: what of others comes and goes meanwhile is not ours."""
    service.log.flush()
    return set(re.findall(r"session=([a-z0-9]{12})", (service.dir / "log").read_text(errors="replace")))


def residue(service):
    """Everything on the host that a session of this service could leave behind. Interfaces and firewall
    elements are those of the test's own network namespace."""
    marks = (str(service.run), str(service.state))
    mounts = [line.split()[4] for line in open("/proc/self/mountinfo") if any(m + "/" in line for m in marks)]
    links = [name for _, name in socket.if_nameindex() if re.match(r"cs\d+$", name)]
    ours = session_ids(service)
    cgroups = []
    for path, dirs, _ in os.walk("/sys/fs/cgroup"):
        match = re.search(r"/cuad/([a-z0-9]{12})", path)
        if match and match[1] in ours:
            cgroups.append(path)
    loops = [line for line in subprocess.run(
        ["losetup", "-a"], capture_output=True, text=True).stdout.splitlines() if marks[1] in line]
    processes = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if line.startswith(b"[lxc monitor] " + marks[0].encode()):
                processes.append(line[:80])
    elements = re.findall(r'"cs\d+"', subprocess.run(
        ["nft", "list", "table", "inet", "cuad"], capture_output=True, text=True).stdout)
    workers = len(service.pids("cuad-desktop"))
    return {"mounts": sorted(mounts), "links": sorted(links), "cgroups": sorted(cgroups),
            "loops": sorted(loops), "processes": sorted(processes), "elements": sorted(elements), "workers": workers}


def png_pixels(data):
    from PIL import Image
    import io
    return Image.open(io.BytesIO(data)).convert("RGB")


def picture_of(result):
    return png_pixels(base64.b64decode(result["data"]))
