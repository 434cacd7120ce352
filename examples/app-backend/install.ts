import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AppOptions, createInstallationIntents } from '@berth/client'
import { installationFile } from './app.ts'

/** What a backend keeps of each organization that installed its app. */
export interface Installation {
  readonly installationId: string
  readonly setupAuthorityId?: string
}

/** Returns the installation that is kept, or asks an organization for one and waits until a person has decided. */
export async function findInstallation(app: AppOptions): Promise<Installation> {
  const kept = await readFile(installationFile, 'utf8').catch(() => null)
  if (kept !== null) return JSON.parse(kept)
  const installation = await askForInstallation(app)
  await writeFile(installationFile, JSON.stringify(installation), { mode: 0o600 })
  return installation
}

async function askForInstallation(app: AppOptions): Promise<Installation> {
  const intents = createInstallationIntents(app)
  let intent = await intents.create({
    capabilities: [
      'svc.cloud.access',
      'svc.cloud.sessions:create',
      'svc.cloud.sessions:read',
      'svc.cloud.turns:submit',
    ],
  })
  // A web app redirects the person's browser instead. The address is a secret: whoever has it can decide.
  console.info(`Waiting for consent. A person of the organization opens ${intent.authorizeUrl}`)
  while (intent.status === 'pending') {
    await sleep(2_000)
    intent = await intents.get(intent.id)
  }
  const { installationId, setupAuthorityId } = intent
  if (installationId === undefined) throw new Error('Nobody approved. Start again to ask again.')
  console.info(`Installed as ${installationId}.`)
  return { installationId, ...(setupAuthorityId !== undefined && { setupAuthorityId }) }
}
