import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '../../settings/settings.ts'
import type { Database } from '../../storage/postgres/database.ts'
import { createDevelopmentTenant, type DevelopmentTenant, hasInstallation } from './development-tenant.ts'

type Urls = Pick<Settings, 'baseUrl' | 'authUrl' | 'consoleUrl'>

/**
 * Makes the development tenant in an empty database and writes `dev.json`, readable by its owner alone. The secrets are on
 * the disk before the database holds their digests, and take their name after: a crash in between is made good by the
 * next start, not paid for with a tenant that nobody can use.
 */
export async function provideDevelopmentTenant(
  db: Database,
  settings: Urls & Pick<Settings, 'dataDir'>,
  now: Date,
): Promise<DevelopmentTenant | null> {
  const { path, pending } = filesIn(settings.dataDir)
  await finishPending(db, pending, path)
  const tenant = await createDevelopmentTenant(db, now, made => write(pending, { ...urlsOf(settings), ...made }))
  if (tenant !== null) await rename(pending, path)
  return tenant
}

/** Brings the URLs in `dev.json` up to date, if this database has its tenant. Only for a process that answers there. */
export async function renewDevelopmentUrls(db: Database, settings: Urls & Pick<Settings, 'dataDir'>): Promise<void> {
  const { path, pending } = filesIn(settings.dataDir)
  const text = await readFile(path, 'utf8').catch(() => '')
  const kept = parse(text)
  const urls = urlsOf(settings)
  const isCurrent = Object.entries(urls).every(([name, url]) => kept[name] === url)
  if (isCurrent || !(await hasInstallation(db, installationIn(text)))) return
  await write(pending, { ...kept, ...urls })
  await rename(pending, path)
}

function filesIn(dataDir: string): { path: string; pending: string } {
  const path = join(dataDir, 'dev.json')
  return { path, pending: `${path}.new` }
}

function urlsOf({ baseUrl, authUrl, consoleUrl }: Urls): Urls {
  return { baseUrl, authUrl, consoleUrl }
}

async function write(path: string, content: object): Promise<void> {
  await writeFile(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flush: true })
}

async function finishPending(db: Database, pending: string, path: string): Promise<void> {
  const text = await readFile(pending, 'utf8').catch(() => null)
  if (text === null) return
  if (await hasInstallation(db, installationIn(text))) await rename(pending, path)
  else await rm(pending)
}

function installationIn(text: string): string | null {
  const { installationId } = parse(text)
  return typeof installationId === 'string' ? installationId : null
}

/** The members of a file; none if it was cut short. */
function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
