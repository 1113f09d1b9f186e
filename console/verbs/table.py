"""The verbs of the command line: the keys' operations for scripts."""

from console.verbs.checkpoint import CHECKPOINT
from console.verbs.compare import COMPARE
from console.verbs.evaluate import EVALUATE
from console.verbs.fork import FORK
from console.verbs.pin import PIN
from console.verbs.pivot import PIVOT
from console.verbs.prepare import PREPARE
from console.verbs.seen import SEEN
from console.verbs.service import SERVICE
from console.verbs.status import STATUS
from console.verbs.stop import STOP
from console.verbs.text import TEXT
from console.verbs.thin import THIN
from console.verbs.verb import Verb
from console.verbs.verify import VERIFY

VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        STATUS,
        CHECKPOINT,
        STOP,
        PREPARE,
        PIVOT,
        VERIFY,
        THIN,
        PIN,
        SERVICE,
        FORK,
        COMPARE,
        EVALUATE,
        TEXT,
        SEEN,
    )
}
