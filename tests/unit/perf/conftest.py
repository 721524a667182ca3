import pytest
from fake_load import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
