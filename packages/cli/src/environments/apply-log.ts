import { stripVTControlCharacters } from 'node:util'
import type { Event } from '@berth/client'
import { durationText, numberOf, textOf } from '../event-data.ts'
import { clip, printable, printableLine } from '../terminal-text.ts'

/** Returns whether an Event tells of the apply of an environment. */
export const isOfApply = (event: Event): boolean =>
  event.type === 'svc.environment.apply' || event.type === 'svc.environment.output'

/** Returns output as a terminal may show it: colours go, and a progress bar becomes lines. */
export const shownText = (text: string): string => printable(stripVTControlCharacters(text).replace(/\r+\n?/g, '\n'))

const advice: ReadonlyMap<string, string> = new Map(
  Object.entries({
    setup_timeout: 'the setup script ran longer than the service allows (BERTH_SETUP_SECONDS)',
    repository_clone_failed: 'a repository could not be cloned',
    secret_unavailable: 'the service cannot open a secret: write it again with `berth env secrets set`',
    apply_failed: 'the service could not apply it; its log says why',
    workspace_lost: 'the sandbox was lost',
    cancelled: 'the run was cancelled',
    session_archived: 'the session was archived',
  }),
)

/** Returns one line that says how an apply ended. */
export function applyOutcome(event: Event): string {
  const took = numberOf(event, 'durationMs')
  const time = took === null ? '' : ` in ${durationText(took)}`
  if (textOf(event, 'status') === 'succeeded') return `succeeded${time}`
  const code = textOf(event, 'errorCode')
  const exit = numberOf(event, 'setupExitCode')
  const why = code === 'setup_exit_nonzero' ? `the setup script ended with exit code ${exit ?? '?'}` : advice.get(code)
  return printableLine(`failed${time}: ${why === undefined ? code : `${why} (${code})`}`)
}

/** Returns what an apply did beside the setup script, one line each. */
export function applyFacts(event: Event): string[] {
  const { data } = event
  const repositories = objects(data.repositories).map(
    ({ repository, path, state }) => `${repository}: ${state} (${path})`,
  )
  const extensions = objects(data.extensions).map(({ ref, id, version, state, reason }) => {
    const name = id === undefined ? String(ref) : `${id} ${version ?? ''}`.trim()
    return `${name}: ${state}${reason === undefined ? '' : `, ${reason}`}`
  })
  const [github] = objects([data.github])
  const access =
    github?.status === 'granted' ? `granted for ${list(github.owners)}` : `${github?.status}: ${github?.reason}`
  return [
    ...(github === undefined ? [] : [`github: ${access}`]),
    ...repositories.map(line => `repository ${line}`),
    ...extensions.map(line => `extension ${line}`),
    ...cacheFacts(event),
  ].map(line => printableLine(clip(line, 500)))
}

function cacheFacts(event: Event): string[] {
  const cache = textOf(event, 'cache')
  if (cache === '') return []
  const [skip] = objects([event.data.cacheSkip])
  const [discarded] = objects([event.data.cacheDiscarded])
  const because = skip !== undefined ? ` (${skip.reason}: ${skip.path})` : discarded ? ` (${discarded.reason})` : ''
  return [`cache: ${cache}${because}`]
}

/** The data of Events is open, so any member may be missing or odd. */
const objects = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'object' && each !== null) : []

const list = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value))
