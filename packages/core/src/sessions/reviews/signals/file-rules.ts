import type { ReviewFile, SignalKind } from '@berth/contract'

/** So many changed lines of one file are more than anybody reads at once. */
const LARGE = 1_000

const automation =
  /^\.(?:github|forgejo|gitea)\/(?:workflows|actions)\/|^\.(?:circleci|buildkite|woodpecker|husky|githooks|git-hooks|devcontainer)\/|^\.vscode\/tasks\.json$|(?:^|\/)(?:\.gitlab-ci\.ya?ml|Jenkinsfile|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|\.(?:travis|drone|woodpecker|cirrus|appveyor)\.ya?ml|appveyor\.ya?ml|\.?lefthook\.ya?ml|\.pre-commit-config\.ya?ml)$/

const generated =
  /(?:^|\/)(?:vendor|node_modules|third_party|bower_components|__generated__|Pods)\/|(?:^|\/)dist\/|\.min\.(?:js|css)$|\.(?:js|css)\.map$|\.pb\.(?:go|cc|h)$|_pb2(?:_grpc)?\.pyi?$|[._]generated\.\w{1,8}$|\.g\.(?:dart|cs)$|\.snap$/

/** Facts of a file that its entry in a review shows. Each returns undefined if it does not hold, '' if there is no more to say. */
export const fileRules: readonly (readonly [SignalKind, (file: ReviewFile) => string | undefined])[] = [
  ['ci_changed', ({ path, previousPath }) => heldBy(automation, path, previousPath)],
  [
    'mode_changed',
    ({ mode, previousMode }) => {
      if (mode === undefined || !mode.startsWith('100')) return undefined
      return previousMode === undefined ? mode : `${previousMode} → ${mode}`
    },
  ],
  [
    'symbolic_link',
    ({ mode, target }) => (mode === '120000' || target !== undefined ? `→ ${target ?? '?'}` : undefined),
  ],
  ['binary', ({ binary }) => (binary ? '' : undefined)],
  ['generated', ({ path }) => heldBy(generated, path)],
  ['large', ({ additions, deletions }) => (additions + deletions > LARGE ? `+${additions} −${deletions}` : undefined)],
]

const heldBy = (pattern: RegExp, ...paths: readonly (string | undefined)[]) =>
  paths.some(path => path !== undefined && pattern.test(path)) ? '' : undefined

/** A manifest, its locks, and the lines by which it names a dependency. */
const managers: readonly (readonly [manifest: RegExp, lock: RegExp, dependency: RegExp])[] = [
  [
    /^package\.json$/,
    /^(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?)$/,
    /^\s*"(?!version"|node"|npm"|pnpm"|yarn"|name"|type"|packageManager")[^"]{1,214}"\s{0,4}:\s{0,4}"(?:[~^<>=*]|v?\d+[.x]|workspace:|npm:|file:|link:|git|https?:)/,
  ],
  [
    /^Cargo\.toml$/,
    /^Cargo\.lock$/,
    /^\s*(?!version|edition|rust-version)[\w-]{1,100}\s{0,4}=\s{0,4}(?:"[~^<>=*\d]|\{.{0,200}(?:version|path|git)\b)/,
  ],
  [/^go\.mod$/, /^go\.sum$/, /^\s*(?:require |replace )?[\w.-]{1,100}\.[\w./-]{1,200} v\d/],
  [
    /^(?:pyproject\.toml|Pipfile)$/,
    /^(?:poetry|uv|pdm|Pipfile)\.lock$/,
    /^\s*(?:"[\w.[\]-]{1,100}\s{0,4}[~<>=!]=|(?!version|python|requires-python)[\w-]{1,100}\s{0,4}=\s{0,4}["{].{0,20}[\d*])/,
  ],
  [/^Gemfile$/, /^Gemfile\.lock$/, /^\s*gem\s/],
  [/^composer\.json$/, /^composer\.lock$/, /^\s*"[\w.-]{1,100}\/[\w.-]{1,100}"\s{0,4}:\s{0,4}"/],
]

/** A changed file, with the texts of its changed lines if the patch has them. */
interface Changed {
  readonly path: string
  readonly texts: readonly string[]
}

/**
 * Returns the locks that changed without a manifest at or below them, and the manifests whose dependencies changed without a
 * lock at or above them.
 */
export function lockSignals(files: readonly Changed[]): readonly (readonly [SignalKind, number])[] {
  const places = files.map(({ path, texts }) => {
    const at = path.lastIndexOf('/') + 1
    return { folder: path.slice(0, at), name: path.slice(at), texts }
  })
  return managers.flatMap(([manifest, lock, dependency]) => {
    const manifests = places.filter(({ name }) => manifest.test(name))
    const locks = places.filter(({ name }) => lock.test(name))
    return places.flatMap(({ folder, name, texts }, at): readonly (readonly [SignalKind, number])[] => {
      if (lock.test(name) && !manifests.some(other => other.folder.startsWith(folder)))
        return [['lock_without_manifest', at]]
      const isLoose = manifest.test(name) && !locks.some(other => folder.startsWith(other.folder))
      return isLoose && texts.some(text => dependency.test(text)) ? [['manifest_without_lock', at]] : []
    })
  })
}
