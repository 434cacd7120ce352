import { createHash } from 'node:crypto'
import { type Review, type ReviewFile, type ReviewSignal, type SignalKind, signalKinds } from '@berth/contract'
import { readNames } from '@berth/contract/named-paths'
import { type ChangedLine, changedLines, type FileLines } from './changed-lines.ts'
import { fileRules, lockSignals } from './file-rules.ts'
import { generatedLine, hasHidden, isComment, lineRules } from './line-rules.ts'
import { testLanguageOf, testPath } from './test-rules.ts'

/** So many lines are named of one kind in one file; the others are counted. */
const NAMED_LINES = 5

/** What a file shows: the lines that show it, none if it is the file as a whole. */
type Found = readonly [kind: SignalKind, lines: readonly ChangedLine[], detail?: string]

/**
 * Returns the facts of a change that its readers must not miss, by kind and then in the order of its files. They depend on
 * the review and the messages alone, and take time in proportion to the patch.
 * @param messages what people asked for, in order: if the first names files, those that none names are told apart
 */
export function signalsOf(
  review: Pick<Review, 'files' | 'patch' | 'patchTruncated'>,
  messages: readonly string[],
): ReviewSignal[] {
  const { files } = review
  const all = changedLines(review)
  const signals = files.flatMap((file, at) => foundIn(file, all[at] ?? null).map(found => signalOf(file.path, found)))
  const texts = (at: number) => (all[at] ?? []).flatMap(hunk => hunk.map(({ text }) => text))
  for (const [kind, at] of lockSignals(files.map(({ path }, number) => ({ path, texts: texts(number) }))))
    signals.push(signalOf(files[at]?.path ?? '', [kind, []]))
  const isNamed = readNames(messages)
  // Whoever begins without a name leaves the choice to the agent; comments on lines name files later.
  if (isNamed !== null) {
    const outside = files.filter(({ path, previousPath = path }) => !isNamed(path) && !isNamed(previousPath))
    signals.push(...outside.map(({ path }) => signalOf(path, ['outside', []])))
  }
  const unread = files.filter((file, at) => all[at] === null && file.additions + file.deletions > 0)
  const [first] = unread
  if (first !== undefined) {
    const counts = unread.map(({ path, additions, deletions }) => `${path} ${additions} ${deletions}`)
    signals.push({ ...signalOf(first.path, ['unread', [], ''], counts), count: unread.length })
  }
  return signalKinds.flatMap(kind => signals.filter(signal => signal.kind === kind))
}

function foundIn(file: ReviewFile, lines: FileLines): readonly Found[] {
  const whole = fileRules.flatMap(([kind, rule]): readonly Found[] => {
    const detail = rule(file)
    return detail === undefined ? [] : [[kind, [], detail]]
  })
  const isGone = file.status === 'deleted'
  const removed: readonly Found[] = isGone && testPath.test(file.path) ? [['test_removed', []]] : []
  if (lines === null) return [...removed, ...whole]
  const added = lines.flatMap(hunk => hunk.filter(({ side }) => side === 'after'))
  const byLine: Found[] = [['hidden_characters', added.filter(({ text }) => hasHidden(text))]]
  if (!whole.some(([kind]) => kind === 'generated'))
    byLine.push(['generated', added.filter(({ text, number }) => number <= 10 && generatedLine.test(text)).slice(0, 1)])
  const kinds = new Map<SignalKind, Set<ChangedLine>>()
  for (const { kind, files, line, unless, comments } of lineRules) {
    if (files?.test(file.path) === false) continue
    const found = kinds.get(kind) ?? new Set()
    kinds.set(kind, found)
    for (const each of added) {
      const [match] = (comments === true || !isComment(each.text) ? line.exec(each.text) : null) ?? []
      if (match !== undefined && unless?.test(match) !== true) found.add(each)
    }
  }
  for (const [kind, found] of kinds) byLine.push([kind, [...found].toSorted((a, b) => a.number - b.number)])
  const language = testLanguageOf(file.path)
  if (language !== undefined) {
    const code = added.filter(({ text }) => !isComment(text))
    byLine.push(['test_skipped', code.filter(({ text }) => language.skipped.test(text))])
    byLine.push(['test_narrowed', code.filter(({ text }) => language.narrowed?.test(text) === true)])
    // A file that is gone has lost its tests, which is said once.
    if (!isGone) {
      byLine.push(['test_removed', lostLines(lines, language.test)])
      byLine.push(['assertion_removed', lostLines(lines, language.assertion)])
    }
  }
  return [...removed, ...whole, ...byLine.filter(([, found]) => found.length > 0)]
}

/** Returns the lines of a form that a file has lost: more of them went from a hunk than came, and they did not move. */
function lostLines(hunks: NonNullable<FileLines>, form: RegExp): readonly ChangedLine[] {
  const matching = hunks.map(hunk => hunk.filter(({ text }) => form.test(text) && !isComment(text)))
  const kept = new Map<string, number>()
  for (const { side, text } of matching.flat())
    if (side === 'after') kept.set(text.trim(), (kept.get(text.trim()) ?? 0) + 1)
  return matching.flatMap(hunk => {
    const gone = hunk.filter(({ side }) => side === 'before')
    const isNet = 2 * gone.length > hunk.length
    return gone.filter(({ text }) => {
      const left = kept.get(text.trim()) ?? 0
      if (left > 0) kept.set(text.trim(), left - 1)
      return isNet && left === 0
    })
  })
}

/** The digest is of what was found and not of where, so that a mark stays while lines above move. */
function signalOf(path: string, [kind, lines, detail = '']: Found, more: readonly string[] = []): ReviewSignal {
  const identity = JSON.stringify([kind, path, detail, lines.map(({ text }) => text), more])
  return {
    kind,
    path,
    count: Math.max(1, lines.length),
    lines: lines.slice(0, NAMED_LINES).map(({ side, number }) => ({ side, number })),
    ...(detail !== '' && { detail }),
    digest: createHash('sha256').update(identity).digest('hex'),
  }
}
