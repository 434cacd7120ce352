import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { OpenApiDocument } from '@berth/contract'
import openapiTypeScript, { astToString } from 'openapi-typescript'
import { generateApi } from 'swagger-typescript-api'

/** One call of an operation with only the parts that the document requires. */
export interface MinimalCall {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly isForm: boolean
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  /** Besides that of the credential. */
  readonly headers: Readonly<Record<string, unknown>>
  /** True if the operation has query parameters and all of them are optional. */
  readonly optionalQuery: boolean
  readonly body: Readonly<Record<string, unknown>>
  readonly key: string
}

/** Writes a generated client, and `program.ts`, which calls it and prints the statuses by operation. */
type Generator = (
  document: OpenApiDocument,
  calls: readonly MinimalCall[],
  place: { readonly origin: string; readonly directory: string },
) => Promise<void>

const json = JSON.stringify
const filled = (members: object) => Object.keys(members).length > 0
const headersOf = ({ key, headers }: MinimalCall) => json({ ...headers, authorization: `Bearer ${key}` })
const program = (start: string, calls: readonly string[]) =>
  `${start}\nconst statuses: Record<string, number> = {}\n${calls.join('\n')}\nconsole.log(JSON.stringify(statuses))\n`

/**
 * Types for each path, called through a typed `fetch`. A binary member of a form is a string here. An option says that
 * the types are for requests: by default the generator takes every member with a default as always present, which is
 * true only of answers.
 */
const openapiFetch: Generator = async (document, calls, { origin, directory }) => {
  const types = astToString(await openapiTypeScript(json(document), { silent: true, defaultNonNullable: false }))
  await writeFile(join(directory, 'schema.ts'), types)
  const start = `import createClient from 'openapi-fetch'
import type { paths } from './schema.ts'
const client = createClient<paths>({ baseUrl: ${json(origin)} })
const bodySerializer = (body: Readonly<Record<string, unknown>>) => {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    if (name === 'file') form.append(name, new File([String(value)], 'a.wav', { type: 'audio/wav' }))
    else form.append(name, String(value))
  }
  return form
}`
  const lines = calls.map(call => {
    const { operationId, method, path, params, query, headers, body, isForm } = call
    const named = {
      ...(filled(params) && { path: params }),
      ...(filled(query) && { query }),
      ...(filled(headers) && { header: headers }),
    }
    const given = `params: ${json(named)}, headers: ${headersOf(call)}, body: ${json(body)}`
    return `statuses.${operationId} = (await client.${method}(${json(path)}, { ${given}, parseAs: 'text'${isForm ? ', bodySerializer' : ''} })).response.status`
  })
  await writeFile(join(directory, 'program.ts'), program(start, lines))
}

/** A class with a method for each operation. */
const apiClass: Generator = async (document, calls, { origin, directory }) => {
  const spec = JSON.parse(json(document)) as Parameters<typeof generateApi>[0] extends { spec?: infer Spec }
    ? Spec
    : never
  await generateApi({ spec, output: directory, fileName: 'api.ts', silent: true } as Parameters<typeof generateApi>[0])
  const start = `import { Api } from './api.ts'
const client = new Api({ baseUrl: ${json(origin)} })
const statusOf = async (call: Promise<Response>) => {
  try {
    return (await call).status
  } catch (refused) {
    if (refused instanceof Response) return refused.status
    throw refused
  }
}`
  const lines = calls.map(call => {
    const { operationId, path, params, query, optionalQuery, body, isForm } = call
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => json(params[name]))
    const sent = isForm ? `{ ...${json(body)}, file: new File(['a'], 'a.wav', { type: 'audio/wav' }) }` : json(body)
    const given = [
      ...inPath,
      ...(filled(query) ? [json(query)] : []),
      sent,
      ...(optionalQuery ? ['{}'] : []),
      `{ headers: ${headersOf(call)} }`,
    ]
    const [, group] = path.split('/')
    return `statuses.${operationId} = await statusOf(client.${group}.${operationId}(${given.join(', ')}))`
  })
  await writeFile(join(directory, 'program.ts'), program(start, lines))
}

/** The generators, by the package that the client is based on. */
export const generators = { 'openapi-typescript': openapiFetch, 'swagger-typescript-api': apiClass } as const

const run = promisify(execFile)
const require = createRequire(import.meta.url)
const modules = dirname(dirname(require.resolve('openapi-fetch/package.json')))
/** The workspace's compiler: the generators bring older ones. */
const compiler = join(modules, 'typescript', 'bin', 'tsc')

/**
 * Generates a client, checks the types of a program that makes the calls, and runs it.
 * @returns the statuses by operation
 * @throws Error with the output of the compiler or the program
 */
export async function callGenerated(
  generator: keyof typeof generators,
  document: OpenApiDocument,
  calls: readonly MinimalCall[],
  origin: string,
): Promise<Readonly<Record<string, number>>> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-client-'))
  try {
    await symlink(modules, join(directory, 'node_modules'))
    await writeFile(join(directory, 'package.json'), json({ type: 'module' }))
    const compilerOptions = {
      strict: true,
      target: 'es2024',
      lib: ['esnext', 'dom', 'dom.iterable'],
      module: 'nodenext',
      types: [],
      skipLibCheck: true,
      rewriteRelativeImportExtensions: true,
      rootDir: '.',
      outDir: 'built',
    }
    await writeFile(join(directory, 'tsconfig.json'), json({ compilerOptions, files: ['program.ts'] }))
    await generators[generator](document, calls, { origin, directory })
    await run(process.execPath, [compiler, '-p', directory]).catch(rethrowOutput)
    const { stdout } = await run(process.execPath, [join(directory, 'built', 'program.js')])
    return JSON.parse(stdout) as Record<string, number>
  } finally {
    await rm(directory, { recursive: true })
  }
}

function rethrowOutput(error: unknown): never {
  const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : ''
  throw new Error(`the program does not compile:\n${output}`, { cause: error })
}
