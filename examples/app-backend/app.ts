import { readFile } from 'node:fs/promises'
import type { AppOptions } from '@berth/client'

/** The account service and the API. They may be two addresses; `script/server` serves both at one. */
export const authUrl = process.env['AUTH_URL'] ?? 'http://127.0.0.1:4100'
export const baseUrl = process.env['BASE_URL'] ?? 'http://127.0.0.1:4100'
export const appSlug = process.env['APP_SLUG'] ?? 'my-app'

/** Where the backend keeps its private key and its installation. A real one uses its secret store and its database. */
export const keyFile = 'app-key.pem'
export const installationFile = 'installation.json'

/** Reads how this backend names itself to the account service. */
export async function readApp(): Promise<AppOptions> {
  const privateKey = await readFile(keyFile, 'utf8').catch(() => {
    throw new Error(`${keyFile} is missing. Run register.ts first.`)
  })
  return { authUrl, appSlug, privateKey }
}
