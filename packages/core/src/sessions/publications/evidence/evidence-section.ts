import type { CheckResult } from '@berth/contract'
import { signalLabel, signalMore } from '@berth/contract/signal-labels'
import type { ModelShare } from '../../../accounting/model-shares.ts'
import { defaultSection, type SectionPart, sectionParts } from '../../../accounts/organizations/pull-request-section.ts'
import type { Decided, Evidence, VerifiedBy } from './evidence.ts'
import { inlineCode } from './plain-text.ts'

/** Lines of a section between its two marks, each of which has an empty line beside it. */
const MOST_LINES = 16
const MOST_CHECKS = 8
const MOST_SIGNALS = 6
const MOST_DECISIONS = 4
const MOST_MODELS = 4
const MOST_REMOVED = 4

/**
 * Returns the section of a pull request, in Markdown of at most 16 lines. What agents, repositories and people named stands
 * in it as inline code; only the template of the organization is Markdown.
 * @param template null for the usual one; '' for no section
 */
export function evidenceSection(evidence: Evidence, template: string | null): string {
  const parts: Readonly<Record<SectionPart, string>> = {
    verification: verificationLine(evidence.verification),
    checks: checkLines(evidence.verification?.checks ?? []),
    signals: signalLine(evidence.signals),
    people: peopleLine(evidence),
    models: modelLine(evidence.models),
    links: linkLine(evidence.links),
  }
  const names = new RegExp(`\\{(${sectionParts.join('|')})\\}`, 'g')
  const lines = (template ?? defaultSection).split(/\r?\n/).flatMap(line => {
    const filled = line.replaceAll(names, (_, name: SectionPart) => parts[name])
    return filled === '' && line !== '' ? [] : filled.split('\n')
  })
  const kept = lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES - 1), '…'] : lines
  return kept.join('\n').trim()
}

/** Returns how the checks have ended in a few words, such as `5 of 6 checks passed`. */
export function countedChecks(checks: readonly CheckResult[]): string {
  const ran = checks.filter(({ state }) => state === 'passed' || state === 'failed')
  return `${ran.filter(({ state }) => state === 'passed').length} of ${counted(ran.length, 'check')} passed`
}

function verificationLine(verification: VerifiedBy | null): string {
  if (verification === null) return '**Not verified by Berth**: no checks have been run on this revision.'
  const { state, tree, environment, checks, removed } = verification
  const title = state === 'passed' ? 'Verified by Berth' : 'Not verified by Berth'
  const where = `in a fresh sandbox of ${inlineCode(environment.name)}, revision ${environment.revision}`
  const shown = removed.slice(0, MOST_REMOVED).map(inlineCode)
  const changed = ` Required checks that were changed or removed since the work began: ${listed(shown, removed.length - shown.length)}.`
  const all = `**${title}**: ${countedChecks(checks)} on tree \`${tree.slice(0, 12)}\`, ${where}.`
  return removed.length === 0 ? all : all + changed
}

function checkLines(checks: readonly CheckResult[]): string {
  // What failed comes first, so that a bound never hides it.
  const order = checks.toSorted((a, b) => Number(a.state !== 'failed') - Number(b.state !== 'failed'))
  const left = order.slice(MOST_CHECKS)
  const lines = order.slice(0, MOST_CHECKS).map(checkLine)
  return [...lines, ...(left.length > 0 ? [`- ${left.length} more: ${endsOf(left)}`] : [])].join('\n')
}

function checkLine({ name, state, required, exitCode, timedOut, durationMs }: CheckResult): string {
  const code = exitCode === undefined || exitCode === null ? 'stopped' : `exit ${exitCode}`
  const end = timedOut === true ? 'its time was over' : code
  const time = durationMs === undefined ? '' : `, ${durationOf(durationMs)}`
  const how = state === 'passed' || state === 'failed' ? ` (${end}${time})` : ''
  return `- ${inlineCode(name)}: ${wordOf(state)}${how}${required ? '' : ', not required'}`
}

const wordOf = (state: CheckResult['state']): string =>
  state === 'skipped' ? 'not due, as its paths are untouched' : state

function endsOf(checks: readonly CheckResult[]): string {
  const states = [...new Set(checks.map(({ state }) => state))]
  return states.map(state => `${checks.filter(check => check.state === state).length} ${state}`).join(', ')
}

function signalLine(signals: Evidence['signals']): string {
  if (signals.length === 0) return '- Signals: none'
  const shown = signals.slice(0, MOST_SIGNALS).map(signal => {
    const { kind, path, lines } = signal
    const at = lines[0] === undefined ? '' : `:${lines[0].number}`
    return `${uncapitalized(signalLabel(kind))} ${inlineCode(`${path}${at}`)}${signalMore({ ...signal, lines: lines.slice(0, 1) })}`
  })
  return `- Signals: ${listed(shown, signals.length - shown.length)}`
}

function peopleLine({ requester, decisions }: Evidence): string {
  const by = requester === null ? 'by an integration' : `by ${inlineCode(requester)}`
  if (decisions.length === 0) return `- Published ${by}; the agent asked nobody for approval`
  const shown = decisions.slice(0, MOST_DECISIONS).map(decisionText)
  return `- Published ${by}; ${listed(shown, decisions.length - shown.length)}`
}

function decisionText({ by, allowed, tool, times }: Decided): string {
  const who = by === null ? 'an integration' : inlineCode(by)
  const often = times === 1 ? '' : ` ${times} times`
  return `${who} ${allowed ? 'approved' : 'denied'} ${tool === null ? 'the plan' : inlineCode(tool)}${often}`
}

function modelLine(models: readonly ModelShare[]): string {
  if (models.length === 0) return '- Models: none'
  const costUsd = models.reduce((sum, each) => sum + each.costUsd, 0)
  const requests = models.reduce((sum, each) => sum + each.requests, 0)
  const unknown = models.reduce((sum, each) => sum + each.unknown, 0)
  const shown = models.slice(0, MOST_MODELS).map(each => {
    // Without a cost the requests tell how much each did.
    const share = costUsd > 0 ? each.costUsd / costUsd : each.requests / requests
    return `${inlineCode(each.model)} ${Math.round(share * 100)} %`
  })
  const cost = unknown === requests ? 'of unknown cost' : `$${costUsd.toFixed(2)}${unknown > 0 ? ' or more' : ''}`
  return `- Models: ${listed(shown, models.length - shown.length)}; ${cost}`
}

function linkLine({ review, statement }: Evidence['links']): string {
  const signed = statement === null ? '' : ` · [Signed statement](${statement})`
  return `- [Review and log](${review})${signed}`
}

/** `CI changed` stays as it is. */
const uncapitalized = (text: string): string => text.replace(/^[A-Z](?=[a-z ])/, first => first.toLowerCase())

const listed = (items: readonly string[], left: number): string =>
  [...items, ...(left > 0 ? [`${left} more`] : [])].join(', ')

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

const durationOf = (ms: number): string =>
  ms < 60_000 ? `${Math.max(1, Math.round(ms / 1000))} s` : `${Math.round(ms / 60_000)} min`
