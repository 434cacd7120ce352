import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { UrlSettings } from '@berth/platform/settings/listener.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { createDevelopmentTenant, type DevelopmentTenant, hasInstallation } from './development-tenant.ts'

type Urls = Pick<UrlSettings, 'baseUrl' | 'authUrl' | 'consoleUrl'>

/**
 * Makes the development tenant in an empty database and writes `dev.json`, readable only by its owner. The secrets
 * reach the disk under another name before the database gets their digests, and are renamed afterwards. So the next
 * start repairs a crash in between, and no tenant with lost secrets remains.
 */
export async function provideDevelopmentTenant(
  db: Database,
  settings: Urls & { readonly dataDir: string },
  now: Date,
): Promise<DevelopmentTenant | null> {
  const { path, pending } = filesIn(settings.dataDir)
  await finishPending(db, pending, path)
  const tenant = await createDevelopmentTenant(db, now, made => write(pending, { ...urlsOf(settings), ...made }))
  if (tenant !== null) await rename(pending, path)
  return tenant
}

/** Updates the URLs in `dev.json` if this database has its tenant. Only for a process that serves these URLs. */
export async function renewDevelopmentUrls(db: Database, settings: Urls & { readonly dataDir: string }): Promise<void> {
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

/** Returns the members of a file; none if it was truncated. */
function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
