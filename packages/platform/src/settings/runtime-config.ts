import { isAbsolute, normalize } from 'node:path'
import Type, { type StaticDecode } from 'typebox'
import { isMaskable } from '../kit/redactor.ts'
import { checked, closed, origin, parsed, type Read, record, text } from './schema.ts'
import { HOW_TO_CLOSE, type SecretSource, textOf, type Written, written } from './secret-text.ts'

/** An ACP agent beside the built-in ones. */
export type RuntimeConfig = Read<StaticDecode<ReturnType<typeof runtimeSchema>>>

/** One entry of `runtimes` of the configuration file. */
export const runtimeSchema = (source: SecretSource) =>
  Type.Decode(
    checked(
      closed({
        /** The pattern of runtime ids in the API's contract. */
        id: checked(
          Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$' }),
          id => !['native', 'shell', 'demo'].includes(id),
          id => `must not be ${id}, which is built in`,
        ),
        name: Type.Optional(text),
        /** The known agent that the entry is based on; each has its own file in `core/runtimes/foreign`. */
        base: Type.Optional(Type.Enum(['opencode', 'codex', 'claude-code', 'gemini', 'goose'])),
        command: Type.Optional(Type.Array(text, { minItems: 1 })),
        env: environment(source),
        /** Origins that its sandboxes reach in addition to the public hosts that the policy allows. */
        reach: Type.Array(origin, { default: [] }),
        /** Absolute directories that sandboxes see read-only at the same path. */
        mounts: Type.Array(parsed(cleanMount, 'must be an absolute directory other than /'), { default: [] }),
        /** Paths below the agent's home that hold its conversations. */
        state: Type.Array(parsed(cleanState, "must be a path below the agent's home, such as .gemini"), {
          default: [],
        }),
      }),
      ({ base, command }) => (base === undefined) !== (command === undefined),
      'must have either command or base',
    ),
    ({ name, command = [], env, ...runtime }) => ({ ...runtime, ...env, command, name: name ?? runtime.id }),
  )

/**
 * Variables of an agent. Berth masks those of `secrets` in the output of its Sessions: references, and values whose
 * names look secret.
 */
const environment = (source: SecretSource) =>
  Type.Decode(
    checked(
      record(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, written(source)),
      env => !source.isOpen || inlineSecret(env) === undefined,
      env => `holds a secret (${inlineSecret(env)}) and ${HOW_TO_CLOSE}`,
    ),
    env => {
      const variables = Object.entries(env)
      return {
        env: Object.fromEntries(variables.map(([name, value]) => [name, textOf(value, source)])),
        secrets: variables.filter(entry => isSecret(entry)).map(([, value]) => textOf(value, source)),
      }
    },
  )

/** Short values are settings, such as `MAX_TOKENS`. */
const isSecret = ([name, value]: readonly [string, Written]): boolean =>
  typeof value !== 'string' || (/key|token|secret|passw|credential|auth(?!or)/i.test(name) && isMaskable(value))

const inlineSecret = (env: Readonly<Record<string, Written>>): string | undefined =>
  Object.entries(env).find(entry => isSecret(entry) && typeof entry[1] === 'string')?.[0]

function cleanMount(path: string): string | undefined {
  const clean = normalize(path).replace(/(?<=.)\/+$/, '')
  return isAbsolute(path) && clean !== '/' && !path.includes('\0') ? clean : undefined
}

function cleanState(path: string): string | undefined {
  const clean = normalize(path).replace(/\/+$/, '')
  const isBelow = !isAbsolute(path) && clean !== '.' && !clean.split('/').includes('..')
  return isBelow && !path.includes('\0') ? clean : undefined
}
