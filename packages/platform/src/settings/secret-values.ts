import { MasterKey } from '../storage/master-key.ts'
import type { Settings } from './settings.ts'

/** Returns the secrets in the settings, so that logs can mask them for operators. Tenants never see settings. */
export function secretsOf({
  blobs: { store },
  config,
  database,
  farHost,
  identity,
  masterKey,
  traces,
}: Settings): string[] {
  const secrets = [
    ...config.providers.map(({ apiKey }) => apiKey),
    ...config.gitHosts.flatMap(({ privateKey, clientSecret }) => [privateKey, clientSecret]),
    config.commits.signingKey,
    ...config.firstPartyClients.map(({ proof }) => ('secret' in proof ? proof.secret : undefined)),
    ...config.identityProviders.map(({ clientSecret }) => clientSecret),
    config.transcription?.kind === 'openai-compatible' ? config.transcription.apiKey : undefined,
    config.search?.apiKey,
    ...config.runtimes.flatMap(runtime => runtime.secrets),
    identity.secret,
    identity.far?.console?.clientSecret,
    farHost.token,
    ...Object.values(traces?.headers ?? {}),
    ...passwordsIn(database.url),
    ...passwordsIn(database.directUrl),
    ...passwordsIn(database.migrationUrl),
    ...(masterKey === undefined ? [] : new MasterKey(masterKey).spellings),
    ...(store.kind === 's3' ? [store.location.keys?.secretAccessKey, store.location.keys?.sessionToken] : []),
  ]
  return secrets.filter(secret => secret !== undefined)
}

/** Finds every password in a database URL: in its own place or as a parameter, escaped or not. */
function passwordsIn(databaseUrl: string | undefined): string[] {
  const written = [/:\/\/[^/@:]*:([^@]*)@/, /[?&]password=([^&]*)/].map(place => databaseUrl?.match(place)?.[1] ?? '')
  return written.flatMap(password => {
    try {
      return [password, decodeURIComponent(password)]
    } catch {
      return [password]
    }
  })
}
