"""The machine as lines: a sample and the terminal's size in, text out."""

from textual.content import Content

from console import formatting
from console.ui.theme import ACCENT, AMBER, DIM, RED
from console.ui.widgets.rank_lines import rank_lines
from console.ui.widgets.text import Piece, foreign, levels, line
from console.view.gpu import Gpu
from console.view.machine import Machine

_ROWS_A_LINE = 12
"""Of the terminal, for each line of the strip."""
_FULL_RAM = 0.95


def machine_lines(machine: Machine, width: int, height: int) -> list[Content]:
    """GPU and machine on one line; of several GPUs each has its own below, while there is room,
    and so has each of several ranks.
    """
    return [*_machine(machine, width, height), *rank_lines(machine.ranks, width, _most(height))]


def _machine(machine: Machine, width: int, height: int) -> list[Content]:
    if machine.trainer_host:
        words = f"the trainer runs on {foreign(machine.trainer_host)}: not seen from here"
        quiet = Piece(content=Content.styled(words, DIM), rank=0)
        return [line([quiet, *_disk(machine)], width)]
    gpus = machine.gpus.rows
    if len(gpus) == 1:
        return [line([*_gpu(gpus[0], "GPU", _spark(machine)), *_host(machine)], width, gap=2)]
    if not gpus:
        quiet = Piece(content=Content.styled(foreign(machine.gpus.word), DIM), rank=7)
        cpu = [Piece(content=_spark(machine), rank=12), *_host(machine)]
        return [line([*cpu, quiet], width, gap=2)]
    first = Piece(content=_spark(machine), rank=12)
    return [line([first, *_host(machine)], width, gap=2), *_several(gpus, width, height)]


def _several(gpus: tuple[Gpu, ...], width: int, height: int) -> list[Content]:
    """The trainer's (▸) before those that want something; the rest in one word."""
    most = _most(height)
    order = sorted(gpus, key=lambda gpu: (not gpu.is_trainers, not _wants(gpu), gpu.index))
    shown = gpus if len(gpus) <= most else sorted(order[:most], key=lambda gpu: gpu.index)
    lines = [_gpu(gpu, f"{' ▸'[gpu.is_trainers]}GPU {gpu.index}", Content()) for gpu in shown]
    if len(shown) < len(gpus):
        more = f"and {formatting.count(len(gpus) - len(shown), 'GPU')} more"
        lines[-1].append(Piece(content=Content.styled(more, DIM), rank=1))
    return [line(pieces, width, gap=2) for pieces in lines]


def _most(height: int) -> int:
    return max(1, height // _ROWS_A_LINE)


def _wants(gpu: Gpu) -> bool:
    return bool(gpu.word or gpu.xid or gpu.ecc_uncorrected)


def _gpu(gpu: Gpu, label: str, spark: Content) -> list[Piece]:
    is_hurt = Content.styled(f"✖ {foreign(gpu.word)}" if gpu.word else "", RED)
    busy = "" if gpu.word else formatting.percent(gpu.busy)
    style = ACCENT if gpu.is_trainers else DIM
    return [
        Piece(content=Content.assemble((label, style), (f" {busy}" if busy else "", "")), rank=0),
        Piece(content=spark, rank=12),
        Piece(content=is_hurt, rank=1),
        Piece(content=_xid(gpu), rank=1),
        Piece(content=_slowed(gpu), rank=3),
        Piece(content=_gpu_memory(gpu), rank=2),
        Piece(content=_of_trainer(gpu), rank=14),
        Piece(content=_plain("" if gpu.celsius is None else f"{gpu.celsius} °C"), rank=4),
        Piece(content=_watts(gpu), rank=9),
        Piece(content=_ecc(gpu), rank=2 if gpu.ecc_uncorrected else 15),
        Piece(content=Content.styled(foreign(gpu.name), DIM), rank=16),
    ]


def _xid(gpu: Gpu) -> Content:
    return Content.styled("" if gpu.xid is None else f"✖ Xid {gpu.xid}", RED)


def _slowed(gpu: Gpu) -> Content:
    """A card at its power limit does what it can: that is said, and no more."""
    reasons = gpu.slowed_by or ()
    if not reasons:
        return Content()
    is_meant = set(reasons) <= {"power cap", "sync boost"}
    text = f"slowed: {', '.join(reasons)}"
    return Content.styled(text, DIM) if is_meant else Content.styled(f" ▲ {text} ", AMBER)


def _gpu_memory(gpu: Gpu) -> Content:
    if gpu.used_bytes is None:
        return Content()
    return _plain(_used_of(gpu.used_bytes, gpu.total_bytes))


def _of_trainer(gpu: Gpu) -> Content:
    if not gpu.is_trainers:
        return Content()
    size = "" if gpu.trainer_bytes is None else f" {formatting.size(gpu.trainer_bytes)}"
    return Content.styled(f"trainer's{size}", DIM)


def _watts(gpu: Gpu) -> Content:
    if gpu.watts is None:
        return Content()
    most = "" if gpu.most_watts is None else f"/{gpu.most_watts:.0f}"
    return _plain(f"{gpu.watts:.0f}{most} W")


def _ecc(gpu: Gpu) -> Content:
    if gpu.ecc_uncorrected:
        return Content.styled(f"✖ ECC {gpu.ecc_uncorrected:,} uncorrected", RED)
    if gpu.ecc_corrected:
        return Content.styled(f"ECC {gpu.ecc_corrected:,} corrected", DIM)
    return Content()


def _host(machine: Machine) -> list[Piece]:
    return [
        Piece(content=_labelled("CPU", formatting.percent(machine.cpu_share)), rank=5),
        Piece(content=_ram(machine), rank=7),
        *_trainer(machine),
        *_disk(machine),
    ]


def _ram(machine: Machine) -> Content:
    used, total = machine.ram_used_bytes, machine.ram_bytes
    if used is None or not total:
        return _labelled("RAM", formatting.UNKNOWN)
    text = _used_of(used, total)
    if used > _FULL_RAM * total:
        return Content.assemble(("RAM ", DIM), (f" {text} ", AMBER))
    return _labelled("RAM", text)


def _trainer(machine: Machine) -> list[Piece]:
    trainer = machine.trainer
    if trainer is None:
        return []
    peak = "" if trainer.peak_bytes is None else f" peak {formatting.size(trainer.peak_bytes)}"
    rate = "" if trainer.write_rate is None else f"{formatting.size(round(trainer.write_rate))}/s"
    return [
        Piece(content=_labelled("RSS", formatting.size(trainer.rss_bytes)), rank=6),
        Piece(content=Content.styled(peak.strip(), DIM), rank=11),
        Piece(content=_labelled("writes", rate) if rate else Content(), rank=8),
    ]


def _disk(machine: Machine) -> list[Piece]:
    free, inodes = machine.room.free_bytes, machine.room.free_inodes
    return [
        Piece(content=_labelled("free", formatting.size(free)), rank=10),
        Piece(
            content=Content()
            if inodes is None
            else _labelled("inodes", formatting.short_steps(inodes)),
            rank=13,
        ),
    ]


def _used_of(used: int, total: int | None) -> str:
    """`62.1/80.0 GB`."""
    if total is None:
        return formatting.size(used)
    number, _, unit = formatting.size(used).rpartition(" ")
    of_all = formatting.size(total)
    return f"{number if of_all.endswith(f' {unit}') else f'{number} {unit}'}/{of_all}"


def _spark(machine: Machine) -> Content:
    return Content.styled(levels(machine.recent, 0.0, 1.0), ACCENT)


def _plain(text: str) -> Content:
    return Content(text)


def _labelled(label: str, value: str) -> Content:
    return Content.assemble((f"{label} ", DIM), (value, ""))
