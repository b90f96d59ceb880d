"""trellis keys: an authority, certificates, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_input import everything_in

from trellis.live.tls import Identity


def test_keys_that_were_issued_can_be_used(trellis, tmp_path: Path) -> None:
    place = tmp_path / "keys"
    assert trellis("keys", "init", place).code == 0
    assert trellis("keys", "issue", place, "node-1").code == 0
    assert "to the client" in trellis("keys", "issue", place, "reader", "--client").out
    assert Identity(place, "node-1").name == "node-1"
    assert {path.name for path in place.iterdir()} == {
        *("ca.key", "ca.crt"),
        *("node-1.key", "node-1.crt"),
        *("reader.key", "reader.crt"),
    }


def test_nothing_is_overwritten(trellis, refused, tmp_path: Path) -> None:
    place = tmp_path / "keys"
    trellis("keys", "init", place)
    trellis("keys", "issue", place, "a")
    before = everything_in(place)
    assert "not empty" in refused("keys", "init", place)
    assert "it is there already" in refused("keys", "issue", place, "a")
    assert "it is there already" in refused("keys", "issue", place, "a", "--client")
    assert everything_in(place) == before
    (place / "a.key").unlink()
    assert "a.crt: it is there already" in refused("keys", "issue", place, "a")
    assert not (place / "a.key").exists()  # both or none
    (place / "b.key").symlink_to(tmp_path / "elsewhere")
    assert "it is there already" in refused("keys", "issue", place, "b")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["", "*", "a.b", "A", "a b", "../a", "a/b", "a\n", "é", "a" * 64, "ca", "a\0"])
def test_a_name_that_is_not_plain_is_refused(trellis, refused, tmp_path: Path, name: str) -> None:
    trellis("keys", "init", tmp_path / "keys")
    before = everything_in(tmp_path)
    assert "1 to 63 of a-z, 0-9 and -" in refused("keys", "issue", tmp_path / "keys", name)
    assert everything_in(tmp_path) == before


def test_without_an_authority_nothing_is_issued(trellis, refused, tmp_path: Path) -> None:
    assert "trellis keys init" in refused("keys", "issue", tmp_path / "none", "a")
    trellis("keys", "init", tmp_path / "keys")
    trellis("keys", "init", tmp_path / "more")
    (tmp_path / "keys" / "ca.key").write_bytes((tmp_path / "more" / "ca.key").read_bytes())
    assert "not the key of the certificate" in refused("keys", "issue", tmp_path / "keys", "a")
    (tmp_path / "keys" / "ca.key").write_bytes(b"nonsense")
    assert "cannot be read" in refused("keys", "issue", tmp_path / "keys", "a")
    (tmp_path / "file").touch()
    assert "cannot be made" in refused("keys", "init", tmp_path / "file")
