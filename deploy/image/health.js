// The image's health check, which needs nothing but Node: succeeds if this container's service answers `GET /healthz`.
const { BERTH_HOST: host = '', BERTH_PORT: port = '4100' } = process.env
const address = host === '' || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}/healthz`

try {
  const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(4_000) })
  process.stdout.write(`${url} answers ${status}\n`)
  process.exitCode = ok ? 0 : 1
} catch (error) {
  process.stdout.write(`${url} does not answer: ${error.cause?.code ?? error.message}\n`)
  process.exitCode = 1
}
