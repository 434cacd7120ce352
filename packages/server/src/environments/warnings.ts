import type { EnvironmentWarning, SecretPin } from '@berth/contract'
import type { StoredDocument } from './document.ts'

/** Below this length a value is not masked: it would blacken half of every log. */
export const MASKED_BYTES = 8
/** A script of this length that goes on after a failed command hides what went wrong. */
const LONG_SETUP_LINES = 20

const credential = /(?:^|_)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)/i
const stopsOnFailure = /^\s*set\s+(?:-[a-z]*e|-o\s+errexit)/m
/** Variables that agents read themselves. */
const ofRuntimes = /^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE|CLAUDE|CODEX|OPENCODE|GOOSE)_/

/** A secret that a revision pins, with the length of its value in bytes. */
export interface SizedPin extends SecretPin {
  readonly size_bytes: number
}

/** Returns what a document allows but its author probably did not mean. A warning is never a reason to refuse it. */
export function warningsOf(document: StoredDocument, secrets: readonly SizedPin[]): EnvironmentWarning[] {
  const { setup, variables } = document
  const names = Object.keys(variables)
  return [
    ...names
      .filter(name => credential.test(name) && variables[name] !== '')
      .map(name => warning(['variables', name], 'looks like a credential: write it as a secret, which is masked')),
    ...names
      .filter(name => ofRuntimes.test(name))
      .map(name => warning(['variables', name], 'is a variable that a runtime may set itself')),
    ...secrets
      .filter(({ size_bytes }) => size_bytes < MASKED_BYTES)
      .map(({ name }) => warning(['secrets', name], `has fewer than ${MASKED_BYTES} bytes, so no output masks it`)),
    ...(setup.includes('\r\n') ? [warning(['setup'], 'has lines that end in CRLF, which bash takes literally')] : []),
    ...(setup.split('\n').length > LONG_SETUP_LINES && !stopsOnFailure.test(setup)
      ? [warning(['setup'], 'goes on after a command that fails: begin it with `set -e`')]
      : []),
  ]
}

const warning = (path: (string | number)[], message: string): EnvironmentWarning => ({
  path: path[0] === 'secrets' ? path : ['document', ...path],
  message,
})
