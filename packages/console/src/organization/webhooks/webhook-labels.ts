import type { WebhookDelivery, WebhookError } from '@berth/contract'

/** The types of Events that an endpoint can receive. */
export const familyLabel: Readonly<Record<string, readonly [name: string, means: string]>> = {
  run: ['Runs', 'An agent starts, waits, finishes or fails.'],
  interaction: ['Interactions', 'An agent asks, and somebody answers.'],
  artifact: ['Artifacts', 'An agent hands over a file.'],
  publication: ['Publications', 'Changes are pushed, pull requests opened and merged.'],
  revision: ['Revisions', 'A Run has changed files, and they can be reviewed.'],
}

const errorLabel: Readonly<Record<WebhookError, string>> = {
  authority: 'The installation may no longer read Sessions',
  url_refused: 'The address is not allowed any more',
  dns_failed: 'The name has no address',
  address_refused: 'The name leads to an address that is not public',
  connection_failed: 'Nobody answers there',
  tls_failed: 'The certificate is not valid',
  connection_lost: 'The connection broke off',
  invalid_response: 'The answer was no HTTP',
  timed_out: 'No answer within ten seconds',
  interrupted: 'The service stopped meanwhile; it tries again',
  internal_error: 'Berth itself failed; it tries again',
}

type Outcome = Pick<WebhookDelivery['attempts'][number], 'status' | 'error'>

/** Returns how an attempt ended, in words. */
export function outcomeLabel({ status, error }: Outcome): string {
  if (status !== undefined) return `HTTP ${status}`
  if (error === undefined) return 'Under way'
  return errorLabel[error as WebhookError] ?? error
}

/** Returns true if an attempt was accepted. */
export function isAccepted({ status }: Outcome): boolean {
  return status !== undefined && status >= 200 && status < 300
}

/** Returns the fault of an address. The service decides in the end: it also resolves the name. */
export function addressFault(text: string): string | undefined {
  if (text === '') return undefined
  if (!URL.canParse(text)) return 'This is no web address.'
  const { protocol, username, password, hash } = new URL(text)
  if (protocol !== 'https:' && protocol !== 'http:') return 'This is no web address.'
  if (username !== '' || password !== '') return 'No name and no password may stand in it.'
  return hash === '' ? undefined : 'Nothing after # may stand in it.'
}

/** Returns true if a text is an id, with white space around it or none. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text.trim())
}
