import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import {
  createExtensionRuntime,
  createSyntheticSourceInfo,
  type Extension,
  loadSkills,
  type ResourceLoader,
  type Skill,
} from '@earendil-works/pi-coding-agent'
import { chosenRules, type Instruction, instructionsOf } from './instructions.ts'
import { systemPrompt } from './system-prompt.ts'

/** Directories in which repositories keep skills. */
const skillDirectories = ['.agents/skills', '.pi/skills', '.claude/skills'] as const
/** The directory of the agent's home in which extensions put skills. A repository's skill of the same name wins. */
const homeDirectory = '.agents/skills'
/** Most unusable skills that are named, and the longest reason for each. */
const MAX_UNUSABLE = 8
const MAX_REASON = 300

/** A skill that cannot be offered, by its path in the workspace. */
export interface UnusableSkill {
  readonly path: string
  readonly reason: string
}

/** The resources for an agent, its instructions among them, and the skills that cannot be used. */
export interface WorkspaceResources {
  readonly loader: ResourceLoader
  readonly instructions: readonly Instruction[]
  readonly unusable: readonly UnusableSkill[]
}

/**
 * Loads a workspace's instructions for agents: its AGENTS.md, those of the directories above, its rules, and its skills
 * with those of the agent's home. All of it is text for the model; nothing runs or changes a setting.
 * @param extension holds the tools of servers, which may change while the agent lives
 * @param notes returns notes about the servers for the model
 */
export function workspaceResources(
  cwd: string,
  agentDir: string,
  extension: Extension,
  notes: () => readonly string[],
): WorkspaceResources {
  let skills: Skill[] = []
  let unusable: readonly UnusableSkill[] = []
  let instructions: readonly Instruction[] = []
  const read = () => {
    const directories = [...skillDirectories.map(name => join(cwd, name)), join(homedir(), homeDirectory)]
    const skillPaths = directories.filter(path => existsSync(path))
    const loaded = loadSkills({ cwd, agentDir, skillPaths, includeDefaults: false })
    skills = loaded.skills
    unusable = unusableOf(loaded, cwd)
    instructions = instructionsOf(cwd, agentDir)
  }
  read()
  const extensions = { extensions: [extension], errors: [], runtime: createExtensionRuntime() }
  const loader: ResourceLoader = {
    getExtensions: () => extensions,
    getSkills: () => ({ skills, diagnostics: [] }),
    getPrompts: () => ({ prompts: [], diagnostics: [] }),
    getThemes: () => ({ themes: [], diagnostics: [] }),
    getAgentsFiles: () => ({ agentsFiles: [...instructions] }),
    getSystemPrompt: () => systemPrompt,
    getSystemPromptSource: () => undefined,
    getAppendSystemPrompt: () => [
      ...notes(),
      ...chosenRules(cwd),
      ...unusable.map(({ path, reason }) => `Skill ${path} cannot be used: ${reason}`),
    ],
    getAppendSystemPromptSources: () => [],
    extendResources: () => undefined,
    reload: async () => read(),
  }
  return {
    loader,
    get instructions() {
      return instructions
    },
    get unusable() {
      return unusable
    },
  }
}

/** Ignores mere warnings, and the first of two skills with one name: the SDK uses both all the same. */
function unusableOf({ skills, diagnostics }: ReturnType<typeof loadSkills>, cwd: string): readonly UnusableSkill[] {
  const used = new Set(skills.map(({ filePath }) => filePath))
  const faults = diagnostics.flatMap(({ type, path, message }) => {
    if (type === 'collision' || path === undefined || used.has(path)) return []
    const [reason = ''] = message.split('\n', 1)
    return [{ path: relative(cwd, path), reason: reason.slice(0, MAX_REASON) }]
  })
  faults.sort((a, b) => (a.path < b.path ? -1 : 1))
  const more = faults.length - MAX_UNUSABLE
  return more <= 0
    ? faults
    : [...faults.slice(0, MAX_UNUSABLE), { path: `and ${more} more`, reason: 'fix those above first' }]
}

/** Returns an empty SDK extension, the SDK's container for tools that come and go. */
export function noTools(): Extension {
  const path = '<servers>'
  return {
    path,
    resolvedPath: path,
    sourceInfo: createSyntheticSourceInfo(path, { source: 'sdk' }),
    handlers: new Map(),
    tools: new Map(),
    messageRenderers: new Map(),
    commands: new Map(),
    flags: new Map(),
    shortcuts: new Map(),
  }
}
