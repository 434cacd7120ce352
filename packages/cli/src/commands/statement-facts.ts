import type { AgentChange, Statement, StatementKey, StatementSubject } from '@berth/client'
import { formatDuration } from '@berth/client/transcript'

type Fact = readonly [name: string, value: string | readonly string[]]
type Actor = { readonly kind: string; readonly id: string }

/** Returns what a verified statement says, as named lines. */
export function statementFacts(
  { subject, predicate }: Statement,
  { kid }: Pick<StatementKey, 'kid'>,
  compared: StatementSubject,
): readonly Fact[] {
  const { session, publication, runs, runsOmitted = 0, signedAt, log } = predicate
  const requesters = [...new Set(runs.map(({ requestedBy }) => nameOf(requestedBy)))]
  const commit = subject.flatMap(({ digest }) => digest.gitCommit ?? [])[0] ?? ''
  const tree = subject.flatMap(({ digest }) => digest.gitTree ?? [])[0] ?? ''
  const published = publication.requestedBy === undefined ? [] : [`published by ${nameOf(publication.requestedBy)}`]
  return [
    ['of', subject[0]?.name ?? ''],
    ['commit', compared.commit === undefined ? commit : `${commit}, as you named it`],
    ['tree', compared.tree === undefined ? tree : `${tree}, as that commit has it here`],
    ['signed', `${signedAt} by key ${kid}`],
    ['checks', checkLines(predicate)],
    ['session', `${session.id}, ${counted(runs.length + runsOmitted, 'run')} of ${agents(predicate)}`],
    ['people', [...requesters.map(who => `asked for by ${who}`), ...published]],
    ['models', modelLines(predicate)],
    ['approvals', approvalLine(predicate)],
    [
      'log',
      `events ${log.first} to ${log.last}${log.digest === undefined ? '' : `, chain digest ${log.digest.sha256}`}`,
    ],
  ]
}

function checkLines({ verification, environment }: AgentChange): readonly string[] {
  const { checks } = verification
  const needed = checks.filter(({ required }) => required !== false)
  const passed = needed.filter(({ state }) => state === 'passed').length
  const skipped = needed.length - passed
  const without = skipped === 0 ? '' : `, ${skipped} had nothing to look at`
  return [
    `${passed} of ${counted(needed.length, 'required check')} passed${without}, in a fresh sandbox`,
    ...checks.map(({ name, state, durationMs, exitCode, required }) => {
      const time = durationMs === undefined ? '' : `  ${formatDuration(durationMs)}`
      const code = state === 'failed' && exitCode != null ? `  exit code ${exitCode}` : ''
      return `${state.padEnd(7)}  ${name}${time}${code}${required === false ? '  not required' : ''}`
    }),
    `environment ${environment.id} revision ${environment.revision}, sha256 ${environment.digest.sha256}`,
  ]
}

function agents({ runtimes }: AgentChange): string {
  const named = runtimes.map(({ id, version, release }) => {
    const of = release ?? version
    return of === undefined ? id : `${id} ${of}`
  })
  return named.length === 0 ? 'no agent' : named.join(', ')
}

function modelLines({ models, cost }: AgentChange): readonly string[] {
  const total = `$${cost.usd.toFixed(2)} in all${cost.complete ? '' : ', and requests whose cost is not known'}`
  const each = models.map(({ provider, model, costShare, requests }) => {
    const share = costShare === undefined ? '' : `${Math.round(costShare * 100)} % of the cost, `
    return `${provider}/${model}  ${share}${counted(requests, 'request')}`
  })
  return each.length === 0 ? ['none through the gateway'] : [...each, total]
}

function approvalLine({ approvals, approvalsOmitted = 0 }: AgentChange): string {
  if (approvals.length === 0) return 'none'
  const denied = approvals.filter(({ decision }) => decision === 'deny').length
  const who = [...new Set(approvals.map(({ decidedBy }) => (decidedBy === undefined ? 'rules' : nameOf(decidedBy))))]
  const more = approvalsOmitted === 0 ? '' : `, and ${approvalsOmitted} before`
  return `${approvals.length - denied} allowed, ${denied} denied${more}, by ${who.join(', ')}`
}

const nameOf = ({ kind, id }: Actor): string => `${kind === 'person' ? 'person' : 'installation'} ${id}`

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
