import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { AgentToolResult, ToolDefinition } from '@earendil-works/pi-coding-agent'
import { BackgroundCommand } from '../background/background-command.ts'
import { touchedPaths } from '../files/touched-paths.ts'
import {
  type ChangedLines,
  changedLines,
  type Diagnostic,
  newDiagnostics,
  readDiagnostics,
  shownDiagnostic,
} from './diagnostic.ts'
import { type DiagnosticsProgram, diagnosticsProgram } from './diagnostics-program.ts'

/** Checks of a project that are left out after its program gave no answer. */
const REST = 10
const MAX_SHOWN = 20

interface Project {
  /** As the last answer had them; null before the first. */
  known: readonly Diagnostic[] | null
  /** Checks that are left out. */
  rest: number
  isRunning: boolean
  /** Ends the run that a read began. */
  learning: AbortController | null
}

/**
 * Tells the model what its edits have made wrong, by the programs of the sandbox that look through a project. A run is
 * bounded in time, and one that gives no answer is not tried again for some edits.
 *
 * What was wrong before is known from a run that a read of a file begins, beside the model's work. An edit does not wait
 * for it but ends it, since it may have seen either text. Then what stands in the changed lines counts as new.
 */
export class Diagnostics {
  readonly #cwd: string
  readonly #limitMs: number
  readonly #isPlanning: () => boolean
  readonly #projects = new Map<string, Project>()
  #changes: ChangedLines[] = []
  /** Edits that are being made, and when there are none any more: those of one step are checked together. */
  #edits = 0
  #quiet = Promise.withResolvers<void>()

  constructor(cwd: string, limitMs: number, isPlanning: () => boolean) {
    this.#cwd = cwd
    this.#limitMs = limitMs
    this.#isPlanning = isPlanning
  }

  /** Returns a tool that reads or changes files, the result of a change followed by what it has made wrong. */
  watch(tool: ToolDefinition): ToolDefinition {
    return {
      ...tool,
      execute: (id, args, signal, ...rest) => {
        const paths = touchedPaths(tool.name, args).map(path => resolve(this.#cwd, path))
        const execute = () => tool.execute(id, args, signal, ...rest)
        return tool.name === 'read' ? this.#read(paths, execute) : this.#edit(paths, execute, signal)
      },
    }
  }

  /** Ends the runs that reads began. */
  close(): void {
    for (const { learning } of this.#projects.values()) learning?.abort()
  }

  async #read(paths: readonly string[], execute: () => Promise<Result>): Promise<Result> {
    const result = await execute()
    // Nothing is run for a model that may only look.
    if (!this.#isPlanning()) for (const path of paths) void this.#learn(path)
    return result
  }

  async #edit(
    paths: readonly string[],
    execute: () => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const quiet = this.#quiet.promise
    this.#edits += 1
    let result: Result
    try {
      for (const path of paths) this.#projectOf(diagnosticsProgram(path, this.#cwd))?.learning?.abort()
      const before = await Promise.all(paths.map(textOf))
      result = await execute()
      const after = await Promise.all(paths.map(textOf))
      this.#changes.push(...paths.map((path, at) => changedLines(path, before[at] ?? '', after[at] ?? '')))
    } finally {
      this.#edits -= 1
      if (this.#edits === 0) {
        this.#quiet.resolve()
        this.#quiet = Promise.withResolvers()
      }
    }
    await quiet
    // The first of the step takes all changes.
    const text = await this.#check(this.#changes.splice(0), signal)
    return text === '' ? result : { ...result, content: [...result.content, { type: 'text', text }] }
  }

  #projectOf(program: DiagnosticsProgram | null): Project | null {
    if (program === null) return null
    const key = `${program.root}\0${program.command}`
    const project = this.#projects.get(key) ?? { known: null, rest: 0, isRunning: false, learning: null }
    this.#projects.set(key, project)
    return project
  }

  async #learn(path: string): Promise<void> {
    const program = diagnosticsProgram(path, this.#cwd)
    const project = this.#projectOf(program)
    if (program === null || project === null || project.known !== null || project.rest > 0 || this.#edits > 0) return
    if (project.isRunning) return
    project.learning = new AbortController()
    project.known = await this.#run(program, project, project.learning.signal)
    project.learning = null
  }

  async #check(changes: readonly ChangedLines[], signal: AbortSignal | undefined): Promise<string> {
    const programs = new Map<Project, DiagnosticsProgram>()
    for (const { path } of changes) {
      const program = diagnosticsProgram(path, this.#cwd)
      const project = this.#projectOf(program)
      if (program !== null && project !== null) programs.set(project, program)
    }
    const texts = [...programs].map(([project, program]) => this.#newIn(program, project, changes, signal))
    return (await Promise.all(texts)).flat().join('\n')
  }

  async #newIn(
    program: DiagnosticsProgram,
    project: Project,
    changes: readonly ChangedLines[],
    signal: AbortSignal | undefined,
  ): Promise<readonly string[]> {
    if (project.rest > 0) project.rest -= 1
    else if (!project.isRunning) {
      const { known } = project
      const found = await this.#run(program, project, signal)
      project.known = found ?? known
      const anew = known === null ? found?.filter(each => isWithin(each, changes)) : newDiagnostics(found ?? [], known)
      if (anew === undefined || anew.length === 0) return []
      const shown = anew.slice(0, MAX_SHOWN).map(each => shownDiagnostic(each, this.#cwd))
      const more = anew.length > MAX_SHOWN ? [`and ${anew.length - MAX_SHOWN} more`] : []
      const where = known === null ? 'in the changed lines' : 'since this change'
      return [`${program.name} reports ${where}:`, ...shown, ...more]
    }
    return []
  }

  /** @returns null if it gives no answer */
  async #run(
    { command, root }: DiagnosticsProgram,
    project: Project,
    signal: AbortSignal | undefined,
  ): Promise<readonly Diagnostic[] | null> {
    project.isRunning = true
    const run = new BackgroundCommand('', command, root, ['BERTH_DIAGNOSTICS', randomUUID()])
    try {
      await run.wait(this.#limitMs, undefined, signal)
    } catch {
      return null
    } finally {
      project.isRunning = false
      // Nobody waits for the end of its processes, which may take a while.
      if (run.status === 'running') void run.kill()
    }
    const { text, leftOut } = run.readAll()
    const found = readDiagnostics(text, root)
    const isWhole = run.exitCode !== null && leftOut === 0
    if (isWhole && (found.length > 0 || run.exitCode === 0)) return found
    project.rest = REST
    return null
  }
}

type Result = AgentToolResult<unknown>

const textOf = (path: string) => readFile(path, 'latin1').catch(() => '')

const isWithin = ({ path, line }: Diagnostic, changes: readonly ChangedLines[]) =>
  changes.some(change => change.path === path && change.first <= line && line <= change.last)
