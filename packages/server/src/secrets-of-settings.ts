import type { Settings } from './settings.ts'

/** What the settings hold that must never be told: keys, and what a runtime gets under a name that says so. */
export function secretsOf({ blobs, config, databaseUrl, migrationUrl, masterKey }: Settings): string[] {
  const secretName = /key|token|secret|password|passwd|credential|auth/i
  const secrets = [
    ...config.providers.map(({ apiKey }) => apiKey),
    ...config.gitHosts.map(({ privateKey }) => privateKey),
    config.transcription?.kind === 'openai-compatible' ? config.transcription.apiKey : undefined,
    ...config.runtimes.flatMap(({ env }) =>
      Object.entries(env).map(([name, value]) => (secretName.test(name) ? value : undefined)),
    ),
    ...passwordsIn(databaseUrl),
    ...passwordsIn(migrationUrl),
    ...(blobs.kind === 's3' ? [blobs.location.secretAccessKey, blobs.location.sessionToken] : []),
    masterKey?.toString('base64'),
    masterKey?.toString('hex'),
  ]
  return secrets.filter(secret => secret !== undefined)
}

/** As an operator may write it: in its own place or as a parameter, escaped or not. */
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
