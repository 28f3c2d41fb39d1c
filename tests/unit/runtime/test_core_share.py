"""Who computes at the same time does not take more cores than there are."""

import pytest

from kazeia_desktop.runtime.core_share import CoreShare

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("n_cores", "taken", "wanted", "left"),
    [(2, 2, 2, 1), (2, 1, 2, 1), (4, 2, 4, 2), (12, 4, 6, 6), (12, 8, 6, 4), (1, 1, 1, 1), (2, 4, 2, 1)],
)
def test_what_is_left(n_cores: int, taken: int, wanted: int, left: int) -> None:
    share = CoreShare(n_cores)
    assert share.left(wanted) == wanted if wanted <= n_cores else n_cores
    with share.taking(taken):
        assert share.left(wanted) == left
    assert share.left(1) == 1 and share.left(n_cores) == n_cores


def test_an_error_gives_the_cores_back() -> None:
    share = CoreShare(2)
    with pytest.raises(ValueError, match="failed"), share.taking(2):
        raise ValueError("failed")
    assert share.left(2) == 2
