/** The app's backend. Each line of its input is a message to an agent; it prints how each Run ended. */
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { type BerthClient, BerthError, createClient, createInstallationTokens, followRun } from '@berth/client'
import { baseUrl, installationFile, readApp } from './app.ts'
import { findInstallation } from './install.ts'

try {
  await main()
} catch (failure) {
  console.error(explain(failure))
  process.exitCode = 1
}

async function main(): Promise<void> {
  const app = await readApp()
  const installation = await findInstallation(app)
  // The client signs an assertion, exchanges it for a token of 600 s, and renews the token before it ends.
  const credential = createInstallationTokens({ ...app, ...installation, resourceAudience: 'svc-cloud' })
  const client = createClient({ baseUrl, credential })

  const sessionId = randomUUID()
  // The shell runtime runs messages as scripts. Without `runtime`, an agent with a model reads them.
  await client.call('createSession', { sessionId, body: { title: 'From my app', runtime: 'shell' } })
  console.info(`Session ${sessionId} waits for messages.`)
  for await (const message of createInterface(process.stdin)) await runTurn(client, sessionId, message)
}

/** Sends one Turn, follows its Run to the end, and prints the result. */
async function runTurn(client: BerthClient, sessionId: string, message: string): Promise<void> {
  // The caller chooses the id, so that a repeated call cannot send the message twice.
  const { run } = await client.call('submitTurn', { sessionId, turnId: randomUUID(), body: { message } })
  for await (const event of followRun({ client, sessionId, runId: run.id, after: 0 })) {
    console.info(`${event.sequence} ${event.type}`)
  }
  const ended = (await client.call('getRun', { sessionId, runId: run.id })).run
  console.info(`${ended.status}: ${ended.result?.summary ?? ended.errorCode ?? ''}`)
}

/** Says what a refusal means for the app. A refusal is decided by its code. */
function explain(failure: unknown): string {
  if (!(failure instanceof BerthError)) return failure instanceof Error ? failure.message : String(failure)
  switch (failure.code) {
    case 'installation_not_found':
    case 'setup_authority_not_found':
    case 'invalid_or_expired_credential':
      return `The organization has removed the app, or who approved it has left (${failure.code}). Delete ${installationFile} and start again to ask for a new consent.`
    case 'cloud_access_denied':
    case 'insufficient_scope':
      return `The organization does not let the app do this: ${failure.fields['requiredScope'] ?? failure.code}.`
    case 'invalid_assertion':
      return `The account service does not know the app's key. Register one with register.ts.`
    default:
      return `The service refused: ${failure.message}.`
  }
}
