"""The source files of the repository, for the checks."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENDINGS = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake"}
SKIPPED = {"build", "out", "carry"}


def sources(*folders):
    """Paths relative to ROOT of all sources, or of those under the folders: tracked or new, not ignored. Works without git, too."""
    try:
        command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        paths = [pathlib.Path(line) for line in listed]
    except (OSError, subprocess.CalledProcessError):
        paths = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
        paths = [path for path in paths if not path.parts[0].startswith(".") and path.parts[0] not in SKIPPED]
    paths = [path for path in paths if (path.suffix in ENDINGS or path.name == "CMakeLists.txt") and (ROOT / path).is_file()]
    return sorted(path for path in paths if not folders or path.parts[0] in folders)
