import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../../../..')

/** Makes a checkout without a package, with this one's bundles but for those that the build then makes anew. */
async function checkoutWithout(name: string, stack: AsyncDisposableStack): Promise<string> {
  const checkout = await runDirectory('left-out')
  stack.defer(() => rm(checkout, { recursive: true, force: true }))
  await chmod(checkout, 0o755)
  const left = RegExp(`^packages/(?:${name}|testing|[^/]+/test|site/dist)$|/node_modules$`)
  for (const part of ['packages', 'script', 'package.json', 'package-lock.json']) {
    const filter = (path: string) => !left.test(relative(root, path))
    await cp(join(root, part), join(checkout, part), { recursive: true, preserveTimestamps: true, filter })
  }
  await mkdir(join(checkout, 'node_modules/@berth'), { recursive: true })
  for (const dependency of await readdir(join(root, 'node_modules'))) {
    if (dependency === '@berth' || dependency === '.cache') continue
    await symlink(join(root, 'node_modules', dependency), join(checkout, 'node_modules', dependency))
  }
  for (const part of await readdir(join(checkout, 'packages'))) {
    await symlink(join(checkout, 'packages', part), join(checkout, 'node_modules/@berth', part))
    const own = join('packages', part, 'node_modules')
    if (existsSync(join(root, own))) await symlink(join(root, own), join(checkout, own))
  }
  execFileSync(process.execPath, ['script/build.ts', 'bundles'], { cwd: checkout, stdio: 'pipe' })
  return checkout
}

/** Variables by which a worker makes pods. */
const cluster = {
  BERTH_KUBERNETES_IMAGE: 'sandbox',
  BERTH_KUBERNETES_HOST_IMAGE: 'host',
  BERTH_KUBERNETES_HOSTS_URL: 'http://127.0.0.1:1',
  BERTH_HOSTS_PORT: '0',
}

describe.each([
  ['triggers', 404],
  ['kubernetes', 200],
])('a service that was built without %s', (name, triggers) => {
  it('works, and neither has nor offers it', { timeout: 180_000 }, async () => {
    await using stack = new AsyncDisposableStack()
    const checkout = await checkoutWithout(name, stack)
    const made = await readFile(join(checkout, 'packages/server/dist/.main.js.inputs'), 'utf8')
    expect(made).toContain('packages/core/src/')
    expect(made).not.toContain(`packages/${name}/src/`)
    const dataDir = await runDirectory('service')
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    stack.defer(() => destroySandboxes(dataDir))
    const { database, connection } = stack.use(await createTestDatabase())
    const main = join(checkout, 'packages/server/dist/main.js')
    const variables = { DATABASE_URL: databaseUrl({ connection }), BERTH_DATA_DIR: dataDir }
    const service = stack.use(await startServiceProcess(variables, {}, main))

    const tenant = await createTenant(database)
    const api = new Api(service.url, tenant.apiKey)
    const { id, activeRunId: runId = '' } = await api.createSession({ runtime: 'shell' }, 'echo works')
    await api.runEnded(id, runId)
    expect(await api.run(id, runId)).toMatchObject({ status: 'completed' })

    const isThere = triggers === 200
    const listed = await api.get('/v1/triggers')
    expect([listed.status, listed.body]).toEqual([triggers, isThere ? { triggers: [] } : { error: 'unknown_endpoint' }])
    const posted = await api.call('POST', `/hooks/${randomUUID()}`, {})
    expect(posted.body['error']).toBe(isThere ? 'invalid_signature' : 'unknown_endpoint')
    const { paths } = (await api.get<{ paths: object }>('/v1/openapi.json')).body
    expect([Object.hasOwn(paths, '/v1/sessions'), Object.hasOwn(paths, '/v1/triggers')]).toEqual([true, isThere])
    const page = new ConsolePage(service.url, tenant.organizationId)
    await page.signIn(await personWithPassword(database, tenant.organizationId))
    expect(await page.identity()).toMatchObject({ features: { triggers: isThere } })

    if (name !== 'kubernetes') return
    await service.kill('SIGTERM')
    await expect(startServiceProcess({ ...variables, ...cluster }, {}, main)).rejects.toThrow(
      'this service was built without Kubernetes',
    )
  })
})
