import { resolve } from 'node:path'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import { isOpenToOthers, readIfThere } from '@berth/platform/settings/read-if-there.ts'
import { secretsOf } from '@berth/platform/settings/secret-values.ts'
import { loadSettings, type Settings } from '@berth/platform/settings/settings.ts'
import { readServing } from '@berth/sandboxes/leases/serving.ts'
import { bundlesDirectory } from './composition/bundles-directory.ts'
import { runtimeCatalog } from './composition/runtime-catalog.ts'
import { absentVariables } from './doctor/absent-variables.ts'
import { examineAgents } from './doctor/agents.ts'
import { examineBlobStore } from './doctor/blob-store.ts'
import { examineDataDirectory, nearest } from './doctor/data-directory.ts'
import { examineDatabase } from './doctor/database.ts'
import { failure, ok, type Report, reasonOf, warning } from './doctor/finding.ts'
import { examinePort, type NamedPort } from './doctor/ports.ts'
import { examineNode, examinePrograms } from './doctor/programs.ts'
import { examineSandbox } from './doctor/sandbox.ts'

export type { Finding, Report } from './doctor/finding.ts'

/**
 * Examines this machine as the place of a service with these settings: programs, data directory, database, blob store,
 * ports, a throw-away sandbox, agents. It changes nothing that outlives it. No secret of the settings is in a finding.
 * @param variables the service's environment
 * @param sink gets each finding as soon as it is made
 */
export async function examine(variables: Readonly<Record<string, string | undefined>>, sink: Report): Promise<void> {
  const report: Report = finding => sink({ ...finding, detail: knownSecrets.text(finding.detail) })
  report(examineNode())
  let settings: Settings
  try {
    settings = loadSettings(await withAbsent(variables, report), readIfThere, isOpenToOthers)
  } catch (error) {
    for (const finding of await examinePrograms(true)) report(finding)
    report(failure('settings', reasonOf(error), 'docs/settings.md'))
    return
  }
  using _ = knownSecrets.add(...secretsOf(settings))
  const { compute, dataDir, roles, sandboxes } = settings
  const bubblewrap = compute.kind === 'bubblewrap' && roles.has('worker')
  const programs = await examinePrograms(bubblewrap)
  for (const finding of programs) report(finding)
  report(ok('settings', `roles ${[...roles].join(', ')}, data in ${dataDir}`))

  const directory = await examineDataDirectory(dataDir, sandboxes.bounds.diskBytes)
  report(directory)
  const serving = await readServing(dataDir)
  const pids = serving.map(({ pid }) => pid)
  await examineStorage(settings, pids, report)
  const listening = serving.filter(({ address }) => address !== null)
  for (const { pid, address } of listening) {
    report(ok('port', `process ${pid} serves from this data directory on ${address}`))
  }
  for (const port of portsOf(settings)) {
    // A service that runs may have been started with another port than these settings name.
    if (port.setting === 'BERTH_PORT' && listening.length > 0) continue
    report(await examinePort(port, pids))
  }

  const lacking = programs.some(({ state }) => state === 'failure') || directory.state === 'failure'
  if (roles.has('worker') && lacking) {
    report(failure('sandbox', 'not tried: see the failures above', 'berth doctor'))
  } else if (roles.has('worker')) {
    const place = nearest(dataDir)
    await examineSandbox(compute, { place, bundlesDir: bundlesDirectory() }, report)
  }
  const configured = settings.config.runtimes.map(({ id }) => id)
  for (const finding of examineAgents(runtimeCatalog(settings), configured)) report(finding)
}

/**
 * Stands in for variables with secrets that only the terminal of the running service has: the service works, and nothing
 * here uses them. Without a service that runs they stay absent, since a start from this terminal would fail.
 */
async function withAbsent(
  variables: Readonly<Record<string, string | undefined>>,
  report: Report,
): Promise<Readonly<Record<string, string | undefined>>> {
  const names = absentVariables(variables, readIfThere)
  if (names.length === 0) return variables
  const [serving] = await readServing(resolve(variables['BERTH_DATA_DIR'] || '.berth'))
  if (serving === undefined) return variables
  for (const name of names) {
    const detail = `${name} is not set in this terminal; process ${serving.pid}, which serves from this data directory, has its own`
    report(warning('settings', detail, `export ${name}=… before a start from here`))
  }
  return { ...variables, ...Object.fromEntries(names.map(name => [name, 'absent'.repeat(10)])) }
}

async function examineStorage(settings: Settings, serving: readonly number[], report: Report): Promise<void> {
  const { blobs, database, dataDir, masterKey, production } = settings
  const spool = nearest(dataDir)
  let isExamined = false
  const examined = { settings: database, dataDir, masterKey, production, serving: serving.length > 0 }
  await examineDatabase(examined, report, async db => {
    isExamined = true
    report(await examineBlobStore(blobs, db, spool))
  })
  if (!isExamined) report(await examineBlobStore(blobs, null, spool))
}

/** Lists the ports that a start listens on. */
function portsOf({ hostsPort, listener, logging, roles }: Settings): readonly NamedPort[] {
  const { host } = listener
  const answers = ['api', 'gateway', 'account'].some(role => [...roles].some(its => its === role))
  return [
    ...(answers ? [{ setting: 'BERTH_PORT', host, port: listener.port }] : []),
    ...(logging.metricsPort === undefined
      ? []
      : [{ setting: 'BERTH_METRICS_PORT', host: '127.0.0.1', port: logging.metricsPort }]),
    ...(hostsPort === undefined ? [] : [{ setting: 'BERTH_HOSTS_PORT', host, port: hostsPort }]),
  ]
}
