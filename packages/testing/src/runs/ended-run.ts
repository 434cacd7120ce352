import type { Event, Run, Session } from '@berth/contract'
import { type Api, isTerminal } from '../api/api.ts'
import { until } from '../until.ts'

/** An ended Run and its Events. */
export interface EndedRun {
  readonly session: Session
  readonly run: Run
  /** The Events without the user's message. */
  readonly events: readonly Event[]
}

/**
 * Waits for the end of a Run and checks the invariants of its log: no gap, one terminal event and none of this Run's
 * after it, one start for each attempt, and one end for each tool call.
 */
export async function endedRun(api: Api, session: Session, runId: string, timeoutMs?: number): Promise<EndedRun> {
  const over = async () => {
    // The service may be away for a moment.
    const now = await api.run(session.id, runId).catch(() => undefined)
    return now?.endedAt !== undefined && now
  }
  const run = await until(`the end of run ${runId}`, over, timeoutMs)
  const log = await api.events(session.id)
  const events = log.filter(event => event.subject.runId === runId && event.data['role'] !== 'user')
  const attempts = events.filter(event => event.type === 'svc.run.started').map(event => event.data['attempt'])
  const facts = {
    gaps: log.flatMap((event, index) => (event.sequence === index + 1 ? [] : [event.sequence])),
    terminal: events.filter(isTerminal).map(event => event.data['status']),
    last: events.at(-1)?.type,
    attemptsTwice: attempts.length - new Set(attempts).size,
    openCalls: openCalls(events),
  }
  const promised = { gaps: [], terminal: [run.status], last: `svc.run.${run.status}`, attemptsTwice: 0, openCalls: [] }
  if (JSON.stringify(facts) !== JSON.stringify(promised))
    throw new Error(`the log breaks an invariant: ${JSON.stringify(facts)}`)
  return { session, run, events }
}

/** Lists the tool calls whose Events are not exactly a start, an end and the completed activity. */
function openCalls(events: readonly Event[]): readonly (readonly [activity: unknown, facts: readonly string[]])[] {
  const calls = Map.groupBy(
    events.filter(({ type }) => type === 'svc.run.progress' || type === 'svc.activity.completed'),
    event => event.data['activityId'],
  )
  const reported = [...calls].map(
    ([activity, facts]) =>
      [activity, facts.map(({ type, data }) => `${type === 'svc.run.progress'} ${data['status']}`)] as const,
  )
  return reported.filter(([, [start, end, done, ...more]]) => {
    const status = done?.replace('false ', '')
    return start !== 'true started' || status === undefined || end !== `true ${status}` || more.length > 0
  })
}

/** Formats status, stop reason, code and attempts of the Run as one line for comparison. */
export const outcomeOf = ({ run }: EndedRun) =>
  [run.status, run.stopReason ?? '-', run.errorCode ?? '-', run.attempts].join(' ')

/** Returns the types of a Run's Events, without the steps of its start: those are reported only if they take long. */
export const typesOf = ({ events }: EndedRun) =>
  events.map(event => event.type.replace('svc.', '')).filter(type => type !== 'workspace.progress')

const dataOf = (type: string) => (ended: EndedRun) =>
  ended.events.filter(event => event.type === type).map(event => event.data)
export const messagesOf = dataOf('svc.message.created')
export const activitiesOf = dataOf('svc.activity.completed')
export const startsOf = dataOf('svc.run.started')
