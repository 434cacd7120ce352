import type { ReviewSignal } from './review.ts'

const kinds: Readonly<Record<string, string>> = {
  secret: 'Looks like a secret',
  hidden_characters: 'Hidden characters',
  test_removed: 'Test removed',
  test_skipped: 'Test skipped',
  test_narrowed: 'Tests narrowed to some',
  assertion_removed: 'Assertion removed',
  ci_changed: 'CI or hook changed',
  install_script: 'Install script added',
  mode_changed: 'Permissions changed',
  symbolic_link: 'Symbolic link',
  outside: 'Not named by any message',
  debugging: 'Left-over debugging',
  manifest_without_lock: 'Dependencies without their lock file',
  lock_without_manifest: 'Lock file without its manifest',
  binary: 'Binary file',
  generated: 'Generated or vendored',
  large: 'More than 1,000 lines',
  unread: 'Lines not looked at',
}

/** Returns the kind of a signal in words for people: `test_skipped` is `Test skipped`. */
export const signalLabel = (kind: string): string => kinds[kind] ?? kind.replaceAll('_', ' ')

/** Returns how many lines or files a signal has beyond those that it names, ` and 4 more`; '' if there are none. */
export function signalMore({
  kind,
  count,
  lines,
}: Pick<ReviewSignal, 'kind' | 'count'> & { readonly lines: readonly unknown[] }): string {
  if (kind === 'unread') return count > 1 ? ` and ${count - 1} more files` : ''
  return lines.length > 0 && count > lines.length ? ` and ${count - lines.length} more` : ''
}
