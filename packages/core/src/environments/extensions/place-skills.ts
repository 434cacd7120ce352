import { addAbortListener } from 'node:events'
import { text } from 'node:stream/consumers'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { hasSucceeded, type LeaseScript, type ProgramRun } from '@berth/sandboxes/lease-program.ts'
import { placesOf } from './contents.ts'
import type { UnpackedExtension } from './unpacked-extensions.ts'

/** What became of the skills of one extension. */
export interface PlacedSkills {
  /** Names of skills in whose place something else lies. */
  readonly kept: readonly string[]
  /** Why none of them was placed; null if all others were. */
  readonly fault: string | null
}

const TIMEOUT_MS = 2 * 60_000
const MIB = 1024 ** 2
const { home } = insidePaths
const MAX_FAULT = 200

/**
 * Copies the skills of extensions into a home, and makes their data directories. What lies there already stays, so a
 * repetition changes nothing. A program of the home's owner does it, which sees of all files only the home and the
 * extensions: no link in the home leads it anywhere else.
 * @param run starts a script at the sandbox's files
 * @param directories below the home, for each skill
 * @returns one result for each extension, in their order
 * @throws Error if the program ended without its answer, or the signal's reason
 */
export async function placeSkills(
  run: (script: LeaseScript) => Promise<ProgramRun>,
  extensions: readonly UnpackedExtension[],
  directories: readonly string[],
  signal: AbortSignal,
): Promise<readonly PlacedSkills[]> {
  if (extensions.length === 0) return []
  const program = await run({
    kind: 'script',
    script,
    environment: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
    trees: { home: 'write' },
    readsAll: false,
    extensions: extensions.map(({ identity, directory, sha256 }) => ({ id: identity.id, directory, content: sha256 })),
    bounds: { memoryBytes: 256 * MIB, cpuSeconds: TIMEOUT_MS / 1000, fileBytes: 1024 * MIB },
  })
  using _listener = addAbortListener(AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]), () => program.kill())
  program.input.end(extensions.flatMap(extension => orderOf(extension, directories)).join(''))
  const output = text(program.output)
  const outcome = await program.ended
  signal.throwIfAborted()
  if (!hasSucceeded(outcome)) throw new Error(`skills could not be placed: ${outcome}`)
  return readAnswer(await output, extensions.length)
}

/** Words that the script reads, each ended by NUL. */
function orderOf({ identity, skills }: UnpackedExtension, directories: readonly string[]): string[] {
  const data = placesOf(identity.id).data.slice(home.length + 1)
  const copies = skills.flatMap(({ name, from }) =>
    directories.flatMap(directory => ['skill', `${insidePaths.extensions}/${identity.id}/${from}`, directory, name]),
  )
  return ['begin', data, ...copies, 'end'].map(word => `${word}\0`)
}

/**
 * `diff` tells a copy of an earlier run, which a crash has cut off, from what somebody else put there. Of an extension
 * whose copy fails nothing stays that this run has placed.
 */
const script = `
set -u
umask 022
cd ${home} || exit 3
index=-1
take() {
  if [ -e "$2/$3" ] || [ -L "$2/$3" ]; then
    diff -rq -- "$1" "$2/$3" > /dev/null 2>&1 || printf 'kept %s %s\\n' "$index" "$3"
    return 0
  fi
  fault=$( { mkdir -p -- "$2" && rm -rf -- "$2/.new-$3" && cp -R -- "$1" "$2/.new-$3" && chmod -R u+w -- "$2/.new-$3" &&
    mv -T -- "$2/.new-$3" "$2/$3"; } 2>&1 ) && { placed+=("$2/$3"); return 0; }
  rm -rf -- "$2/.new-$3"
  return 1
}
while IFS= read -r -d '' word; do
  case $word in
    begin)
      index=$((index + 1))
      placed=()
      fault=
      IFS= read -r -d '' data
      fault=$(mkdir -p -- "$data" 2>&1) || fault=\${fault:-failed}
      ;;
    skill)
      IFS= read -r -d '' from
      IFS= read -r -d '' directory
      IFS= read -r -d '' name
      if [ -z "$fault" ]; then
        take "$from" "$directory" "$name" && fault= || fault=\${fault:-failed}
      fi
      ;;
    end)
      if [ -n "$fault" ]; then
        [ "\${#placed[@]}" -eq 0 ] || rm -rf -- "\${placed[@]}"
        printf 'failed %s %s\\n' "$index" "\${fault##*$'\\n'}"
      fi
      ;;
  esac
done
`

function readAnswer(answer: string, count: number): readonly PlacedSkills[] {
  const kept = Array.from({ length: count }, () => new Set<string>())
  const faults: (string | null)[] = Array.from({ length: count }, () => null)
  for (const line of answer.split('\n')) {
    const [, kind, index, detail = ''] = /^(kept|failed) (\d+) (.*)$/.exec(line) ?? []
    if (kind === 'kept') kept[Number(index)]?.add(detail)
    if (kind === 'failed') faults[Number(index)] = `skills could not be copied: ${detail.slice(0, MAX_FAULT)}`
  }
  return kept.map((names, index) => ({ kept: [...names], fault: faults[index] ?? null }))
}
