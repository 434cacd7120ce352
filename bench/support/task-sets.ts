import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runGit } from '../../packages/core/src/git/run-git.ts'

const directory = join(import.meta.dirname, '../tasks')

/** A small repository with a message that asks for a change, and a script that tells whether the change is there. */
export interface Task {
  readonly set: string
  readonly name: string
  readonly message: string
  /** A bash script for the root of the repository; it succeeds if the task is solved. No agent sees it. */
  readonly check: string
  /** A patch that solves the task. */
  readonly solution: string
  /** History of the repository, for `git fast-import`. */
  readonly history: string
}

/** Reads the tasks of all sets, in order. */
export async function readTasks(): Promise<Task[]> {
  const found = (await readdir(directory, { recursive: true })).filter(path => path.endsWith('/repo.fi')).sort()
  return Promise.all(
    found.map(async path => {
      const [set = '', name = ''] = path.split('/')
      const read = (file: string) => readFile(join(directory, set, name, file), 'utf8')
      const [message, check, solution] = await Promise.all(['message.md', 'check', 'solution.patch'].map(read))
      return { set, name, message, check, solution, history: await read('repo.fi') } as Task
    }),
  )
}

/** Makes the bare repository of a task, with the branch `main`. */
export async function makeRepository(task: Task, gitDir: string): Promise<void> {
  await mkdir(gitDir, { recursive: true })
  await runGit(['init', '--bare', '--quiet', '--initial-branch=main', gitDir])
  await runGit(['fast-import', '--quiet', '--done'], { gitDir, input: task.history })
}
