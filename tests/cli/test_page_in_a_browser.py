"""The demo's page in a real browser, where there is one (Debian's chromium)."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--force-device-scale-factor=1"]


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_draws_the_page(tmp_path: Path, demo) -> None:
    page = (demo.directory / "index.html").as_uri()
    picture = tmp_path / "page.png"
    common = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}"]
    dom = subprocess.run([*common, "--dump-dom", page], capture_output=True, text=True, timeout=120, check=True).stdout
    assert len(re.findall("<circle", dom)) == 64
    assert len(re.findall('class="kept"', dom)) == 7
    assert "BROKEN" not in dom
    subprocess.run(
        [*common, "--window-size=1180,1500", f"--screenshot={picture}", page],
        capture_output=True,
        timeout=120,
        check=True,
    )
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    assert (width, height) == (1180, 1500)
    assert len(picture.read_bytes()) > 50_000, "an empty page is a small picture"
