# Figures. A picture is one figure between two clearings: it is drawn when it is shown, before it is
# closed or cleared, and at the program's end, and kept once. Continues the namespace of
# berth_report.py.
import posix

io, logging, warnings, weakref = map(own_module, ("io", "logging", "warnings", "weakref"))

_order = weakref.WeakKeyDictionary()  # figure -> position by creation
_part = weakref.WeakKeyDictionary()   # figure -> how often it was presented and then cleared
_presented = weakref.WeakSet()        # figures that were shown or saved since
_pending = {}                         # saved figures that no window manager holds
_pictures = {}                        # (position, part) -> (header, png)
_written = {}                         # (position, part) -> the png already in the file
_count = [0]
_skipped = set()
_drawing = [False]
_original = {}


def ours():
    return posix.getpid() == pid and not _drawing[0]


def position(figure):
    if figure not in _order:
        _count[0] += 1
        _order[figure] = _count[0]
    return _order[figure]


def is_blank(figure):
    parts = ("axes", "texts", "images", "lines", "patches", "artists", "legends", "subfigs")
    return not any(getattr(figure, part, None) for part in parts) and not getattr(
        figure, "_suptitle", None)


def is_open(figure):
    managers = _original["Gcf"].figs.values() if "Gcf" in _original else ()
    return any(manager.canvas.figure is figure for manager in managers)


def label_of(figure):
    try:
        text = figure.get_label()
        if isinstance(text, str) and text:
            return text[:200]
        number = getattr(figure, "number", None)
        return "Figure %d" % number if isinstance(number, int) else ""
    except Exception:
        return ""


def draw(figure):
    """The figure as PNG. Warnings about it become notes instead of lines on standard error."""
    dpi = min(max(float(figure.dpi), 72.0), 200.0)
    width, height = (side * dpi for side in figure.get_size_inches())
    if width > SIDE_MAX or height > SIDE_MAX or width * height > AREA_MAX:
        raise Rejected("it is too large: %d x %d pixels" % (width, height))
    buffer = io.BytesIO()
    log = logging.getLogger("matplotlib")
    level = log.level
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        log.setLevel(logging.CRITICAL)
        try:
            _original["savefig"](figure, buffer, format="png", dpi=dpi, bbox_inches="tight")
        finally:
            log.setLevel(level)
    png = buffer.getvalue()
    if len(png) > PNG_MAX:
        raise Rejected("it is too large: %d bytes as PNG" % len(png))
    glyphs = [w for w in caught if "missing from current font" in str(w.message)]
    if glyphs:
        note("%s: no installed font has a glyph for %d of its characters" % (
            label_of(figure) or "a figure", len({str(w.message) for w in glyphs})))
    return png


def capture(figure, early=False):
    """Draws a figure unless it is blank or has not changed since it was drawn."""
    key = (position(figure), _part.get(figure, 0))
    if is_blank(figure) or key in _skipped:
        return
    if key in _pictures and not getattr(figure, "stale", True):
        return
    if key not in _pictures and len(_pictures) >= FIGURES_MAX:
        _skipped.add(key)
        return
    _drawing[0] = True
    try:
        png = draw(figure)
        figure.stale = False
    except Rejected as reason:
        _skipped.add(key)
        note("%s is not attached: %s" % (label_of(figure) or "figure %d" % key[0], reason))
        return
    except Exception as fault:
        _skipped.add(key)
        note("%s could not be drawn: %s" % (
            label_of(figure) or "figure %d" % key[0], describe(fault)))
        return
    finally:
        _drawing[0] = False
    header = '{"order":%d,"part":%d,"label":%s}' % (key + (quote(label_of(figure)),))
    held = sum(len(kept) for other, (_, kept) in _pictures.items() if other != key)
    if held + len(png) > PNG_TOTAL_MAX:
        _skipped.add(key)
        note("%s is not attached: the figures of this run exceed %d bytes" % (
            label_of(figure) or "figure %d" % key[0], PNG_TOTAL_MAX))
        return
    _pictures[key] = (header, png)
    # What was shown survives even a program that is killed afterwards.
    if early and key not in _written:
        _written[key] = png
        append("figure", header, png)


def collect_figures():
    if "Gcf" in _original:
        for manager in list(_original["Gcf"].figs.values()):
            capture(manager.canvas.figure)
    for figure in list(_pending.values()):
        capture(figure)
    _pending.clear()


def write_figures():
    for key, (header, png) in sorted(_pictures.items()):
        if _written.get(key) != png:
            _written[key] = png
            append("figure", header, png)
    if len(_pictures) >= FIGURES_MAX and _skipped:
        note("figures beyond the first %d are not attached" % FIGURES_MAX)


def present(figure, early):
    """Called when the program shows or saves a figure."""
    if not ours():
        return
    try:
        position(figure)
        _presented.add(figure)
        if early:
            capture(figure, early=True)
        elif not is_open(figure) and len(_pending) < FIGURES_MAX:
            _pending[id(figure)] = figure
    except Exception:
        pass


def before_clear(figure):
    if not ours() or figure not in _presented:
        return
    try:
        capture(figure)
        _presented.discard(figure)
        _part[figure] = _part.get(figure, 0) + 1
    except Exception:
        pass


class Watched:
    """A method that tells when it is looked up on an object. The call itself is the method's own,
    so that no frame of this file stands in a traceback through it."""

    def __init__(self, function, tell):
        self.function, self.tell = function, tell

    def __get__(self, figure, owner=None):
        if figure is not None:
            self.tell(figure)
        return self.function.__get__(figure, owner)


def patch_figure(module):
    figure = module.Figure
    _original["savefig"] = figure.savefig
    figure.savefig = Watched(figure.savefig, lambda shown: present(shown, early=False))
    for name in ("clear", "clf"):
        if hasattr(figure, name):
            setattr(figure, name, Watched(getattr(figure, name), before_clear))


def patch_backend_bases(module):
    def show(self):
        present(self.canvas.figure, early=True)

    # A window cannot open here: to show a figure is to hand it over.
    module.FigureManagerBase.show = show
    init = module.FigureCanvasBase.__init__

    def __init__(self, *args, **options):
        init(self, *args, **options)
        if getattr(self, "figure", None) is not None and ours():
            position(self.figure)

    module.FigureCanvasBase.__init__ = __init__


def patch_pylab_helpers(module):
    managers = module.Gcf
    _original["Gcf"] = managers
    destroy, destroy_all = managers.destroy, managers.destroy_all
    destroy_fig = getattr(managers, "destroy_fig", None)

    def keep(wanted):
        if ours():
            for number, manager in list(managers.figs.items()):
                try:
                    if wanted(number, manager):
                        capture(manager.canvas.figure)
                except Exception:
                    pass

    def new_destroy(num):
        keep(lambda number, manager: number == num or manager is num)
        return destroy(num)

    def new_destroy_all():
        keep(lambda number, manager: True)
        return destroy_all()

    def new_destroy_fig(fig):
        keep(lambda number, manager: manager.canvas.figure is fig)
        return destroy_fig(fig)

    managers.destroy = staticmethod(new_destroy)
    managers.destroy_all = staticmethod(new_destroy_all)
    if destroy_fig is not None:
        managers.destroy_fig = staticmethod(new_destroy_fig)
    # Ends before the module's own exit function closes what is open.
    own_module("atexit").register(lambda: ours() and collect_figures())


def patch_font_manager(module):
    """Characters that the chosen fonts lack are taken from an installed CJK font."""
    find = getattr(module.FontManager, "_find_fonts_by_props", None)
    if find is None:
        return
    chosen = []

    def fallback(manager):
        wanted = ("Noto Sans CJK", "Source Han Sans", "WenQuanYi", "Droid Sans Fallback",
                  "Noto Serif CJK", "AR PL", "IPAGothic", "NanumGothic")
        best = None
        for entry in manager.ttflist:
            rank = next((i for i, name in enumerate(wanted) if entry.name.startswith(name)), None)
            if rank is not None:
                place = (rank, entry.weight not in (400, "normal", "regular"), entry.fname)
                best = place if best is None or place < best else best
        return best[2] if best else None

    def _find_fonts_by_props(self, *args, **options):
        paths = find(self, *args, **options)
        try:
            if not chosen:
                chosen.append(fallback(self))
            if chosen[0] and chosen[0] not in paths:
                paths = [*paths, chosen[0]]
        except Exception:
            pass
        return paths

    module.FontManager._find_fonts_by_props = _find_fonts_by_props


def patch(module):
    last = module.__name__.rpartition(".")[2].lstrip("_")
    {"figure": patch_figure, "backend_bases": patch_backend_bases,
     "pylab_helpers": patch_pylab_helpers, "font_manager": patch_font_manager}[last](module)
