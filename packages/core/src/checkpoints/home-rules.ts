import { type ExcludeRule, outboxName } from '@berth/supervisor/tree'
import { cacheRules } from './exclude-rules.ts'

/**
 * Directories of a home that hold only copies of something, which their tool fetches or makes again. An installed tool
 * lies elsewhere, such as in `.local` or `.cargo/bin`.
 */
const homeCaches = [
  '.bun/install/cache',
  '.cache',
  '.cargo/git',
  '.cargo/registry',
  '.composer/cache',
  '.conda/pkgs',
  '.eclipse/p2',
  '.electron-gyp',
  '.gradle/caches',
  '.gradle/daemon',
  '.gradle/wrapper/dists',
  '.ivy2/cache',
  '.local/share/Trash',
  '.local/share/opencode/snapshot',
  '.local/share/pnpm/store',
  '.m2/repository',
  '.node-gyp',
  '.npm/_cacache',
  '.npm/_logs',
  '.npm/_npx',
  '.nuget/packages',
  '.nvm/.cache',
  '.pnpm-store',
  '.pub-cache/hosted',
  '.rustup/downloads',
  '.rustup/tmp',
  '.sbt/boot',
  '.stack/pantry',
  '.yarn/berry/cache',
  '.yarn/cache',
  'go/pkg/mod',
] as const

/** Paths below a home that are not like the rest of it. */
export interface HomeContent {
  /** The runtime keeps its conversations here, so no rule leaves them out. */
  readonly state: readonly string[]
  /** Placed by the service. A fresh sandbox gets them anew, and their newer content only if nothing is in their place. */
  readonly placed: readonly string[]
}

/** Returns the rules for directories of a home that stay out of its checkpoint. */
export function homeRules({ state, placed }: HomeContent): readonly ExcludeRule[] {
  const isFree = (path: string) => !state.some(kept => overlaps(path, kept))
  return [
    ...[...homeCaches, outboxName].filter(isFree).map(rooted),
    // A cached path may be a file as well.
    ...placed.filter(isFree).map(path => ({ ...rooted(path), anything: true })),
    ...cacheRules,
  ]
}

const rooted = (path: string): ExcludeRule => ({ names: path.split('/'), rooted: true })

const overlaps = (path: string, other: string): boolean =>
  path === other || other.startsWith(`${path}/`) || path.startsWith(`${other}/`)
