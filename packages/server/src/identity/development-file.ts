import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '../settings.ts'
import type { Database } from '../storage/database.ts'
import { createDevelopmentTenant, type DevelopmentTenant, hasInstallation } from './development-tenant.ts'

/**
 * Makes the development tenant in an empty database and writes `dev.json` (completions, Settings and start), readable by
 * its owner alone. The secrets are on the disk before the database holds their digests, and take their name after: a
 * crash in between is made good by the next start, not paid for with a tenant that nobody can use.
 */
export async function provideDevelopmentTenant(
  db: Database,
  settings: Pick<Settings, 'dataDir' | 'baseUrl' | 'authUrl' | 'consoleUrl'>,
  now: Date,
): Promise<DevelopmentTenant | null> {
  const path = join(settings.dataDir, 'dev.json')
  const pending = `${path}.new`
  await finishPending(db, pending, path)
  const { baseUrl, authUrl, consoleUrl } = settings
  const tenant = await createDevelopmentTenant(db, now, made =>
    writeFile(pending, `${JSON.stringify({ baseUrl, authUrl, consoleUrl, ...made }, null, 2)}\n`, {
      mode: 0o600,
      flush: true,
    }),
  )
  if (tenant !== null) await rename(pending, path)
  return tenant
}

async function finishPending(db: Database, pending: string, path: string): Promise<void> {
  const text = await readFile(pending, 'utf8').catch(() => null)
  if (text === null) return
  if (await hasInstallation(db, installationIn(text))) await rename(pending, path)
  else await rm(pending)
}

/** A file that was cut short names none. */
function installationIn(text: string): string | null {
  try {
    const { installationId } = JSON.parse(text)
    return typeof installationId === 'string' ? installationId : null
  } catch {
    return null
  }
}
