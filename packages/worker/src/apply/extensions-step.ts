import { activeBut, MAX_REASON } from '@berth/core/environments/extensions/find-extensions.ts'
import { placeSkills } from '@berth/core/environments/extensions/place-skills.ts'
import type { ServerTemplate } from '@berth/core/environments/extensions/server-template.ts'
import { ExtensionFault, type UnpackedExtension } from '@berth/core/environments/extensions/unpacked-extensions.ts'
import type { ApplyReport } from '@berth/core/sessions/leases/apply-report.ts'
import { BlobMissing } from '@berth/platform/storage/blobs/blobs.ts'
import type { LeaseScript } from '@berth/sandboxes/lease-program.ts'
import { environmentWith } from '../agent/agent-environment.ts'
import { missingNames } from '../agent/mcp-servers.ts'
import type { ApplyParts, ApplyStep } from './apply-parts.ts'
import { environmentOfLease } from './lease-environment.ts'

type Result = NonNullable<ApplyReport['extensions']>[number]

/** Where every agent but some looks for skills of its user. */
const usualDirectory = '.agents/skills'

/**
 * Installs the extensions that the sandbox was made with: their skills are copied into the home, and the servers that
 * have everything they need stay on the lease's list.
 */
export const extensionsStep: ApplyStep = {
  name: 'extensions',
  isDue: ({ extensions }) => extensions.length > 0,
  async run(parts, signal) {
    const { context, lease, report, runtime } = parts
    const results = report.extensions ?? []
    const unpacked = new Map<string, UnpackedExtension>()
    for (const { sha256, state } of results) {
      if (state !== 'active' || sha256 === undefined) continue
      const extension = await findUnpacked(parts, sha256, signal)
      if (extension !== null) unpacked.set(sha256, extension)
    }
    const extensions = [...unpacked.values()]
    const directories = [usualDirectory, ...(runtime.skills ?? [])]
    const placed = await place(parts, extensions, directories, signal)
    const environment = await environmentOfLease(context.db, lease)
    const values = environment === null ? {} : environmentWith(runtime.reach, environment)
    const servers: ServerTemplate[] = []
    const copied: string[] = []
    const installed = results.map(result => {
      const { sha256, state } = result
      if (state !== 'active' || sha256 === undefined) return result
      const extension = unpacked.get(sha256)
      if (extension === undefined) return fail(result, 'missing')
      const skills = placed[extensions.indexOf(extension)] ?? { kept: [], fault: 'skills could not be copied' }
      if (skills.fault !== null) return fail(result, skills.fault)
      const own = extension.skills.filter(({ name }) => !skills.kept.includes(name))
      copied.push(...directories.flatMap(directory => own.map(({ name }) => `${directory}/${name}`)))
      const able = extension.servers.filter(server => missingNames(server, values).length === 0)
      servers.push(...able)
      const { reason: _, ...about } = result
      return {
        ...about,
        ...activeBut([...extension.leftOut, ...skills.kept.map(keptNotice), ...needs(extension, values)]),
      }
    })
    return { extensions: installed, servers, skills: copied }
  },
}

/** Returns an extension that was unpacked when the sandbox was made; null if the host has it no more. */
async function findUnpacked(
  { context }: ApplyParts,
  sha256: string,
  signal: AbortSignal,
): Promise<UnpackedExtension | null> {
  try {
    return await context.extensions.unpacked.provide(sha256, () => Promise.reject(new BlobMissing(sha256)), signal)
  } catch (error) {
    if (error instanceof ExtensionFault) return null
    throw error
  }
}

async function place(
  { context, lease }: ApplyParts,
  extensions: readonly UnpackedExtension[],
  directories: readonly string[],
  signal: AbortSignal,
): Promise<Awaited<ReturnType<typeof placeSkills>>> {
  try {
    const run = (script: LeaseScript) => context.driver.run(lease.id, script)
    return await placeSkills(run, extensions, directories, signal)
  } catch (error) {
    signal.throwIfAborted()
    context.log.warn({ err: error, leaseId: lease.id }, 'the skills of extensions could not be placed')
    return []
  }
}

const keptNotice = (name: string): string => `skill ${name}: something of this name is there already`

function needs({ servers }: UnpackedExtension, values: Readonly<Record<string, string>>): readonly string[] {
  return servers.flatMap(server => {
    const missing = missingNames(server, values)
    return missing.length === 0 ? [] : [`MCP server ${server.name}: the environment has no ${missing.join(', ')}`]
  })
}

const fail = ({ reason: _, ...about }: Result, reason: string): Result => ({
  ...about,
  state: 'failed',
  reason: [...reason].slice(0, MAX_REASON).join(''),
})
