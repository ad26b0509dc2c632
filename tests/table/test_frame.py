"""Any table becomes a frame by the way that it offers itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from posteriori.table.frame import open_frame

TABLE = pa.table({"a": [1, 2], "b": ["p", "q"]})


class Streams:
    """Has an Arrow stream, and a `collect` that is something else."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)

    def collect(self):
        raise AssertionError("a table that streams needs no collecting")


class Waits:
    """Offers nothing before it is collected."""

    def collect(self):
        return TABLE


def test_a_stream_is_read_and_a_promise_collected():
    for given in (TABLE, Streams(), Waits()):
        frame = open_frame(given)
        assert frame.names == ("a", "b")
        assert np.asarray(frame.column(0)).tolist() == [1, 2]
