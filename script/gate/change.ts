import { execFileSync } from 'node:child_process'
import type { Change } from './select.ts'

/** A push's worth of work, where no upstream tells it; a day's would be most of a busy repository's files. */
const stretchSeconds = 4 * 3600

/**
 * Returns the change that a checkout holds: its uncommitted files, and its commits since `base`. By default these are the commits
 * that the upstream branch lacks, or, if it lacks none, those of the four hours before the newest commit.
 * @throws Error if git does not know `base`
 */
export function changeIn(root: string, base?: string): Change {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, ...args], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 ** 2,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  const lines = (text: string) => text.split('\n').filter(line => line !== '')
  const from = base ?? defaultBase(git)
  const committed = from === null ? [] : lines(git('diff', '--name-only', from, 'HEAD'))
  const open = lines(git('status', '--porcelain=v1', '--no-renames', '-uall')).map(line => line.slice(3))
  return {
    paths: new Set([...committed, ...open]),
    messages: from === null ? '' : git('log', '--format=%B', `${from}..HEAD`),
  }
}

/** Returns the count of commits of the branch, or, in a shallow clone, a number that is another one for each commit. */
export function commitsIn(root: string): number {
  const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
  if (git('rev-parse', '--is-shallow-repository') === 'true')
    return Number.parseInt(git('rev-parse', 'HEAD').slice(0, 8), 16)
  return Number(git('rev-list', '--count', 'HEAD'))
}

/** Null if the checkout has no commit that could be a base, as a shallow one. */
function defaultBase(git: (...args: string[]) => string): string | null {
  const attempt = (...args: string[]) => {
    try {
      return git(...args).trim()
    } catch {
      return ''
    }
  }
  const head = git('rev-parse', 'HEAD').trim()
  const common = attempt('merge-base', '@{upstream}', 'HEAD')
  if (common !== '' && common !== head) return common
  const before = Number(git('log', '-1', '--format=%ct')) - stretchSeconds
  const older = attempt('rev-list', '-1', `--before=${before}`, 'HEAD')
  return older === '' || older === head ? attempt('rev-parse', '--verify', '--quiet', 'HEAD~1') || null : older
}
