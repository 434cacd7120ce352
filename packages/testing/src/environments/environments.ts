import { randomUUID } from 'node:crypto'
import type { Environment, EnvironmentPage } from '@berth/contract'
import type { Answer, Api } from '../api/api.ts'

type Answered = Answer<{ environment: Environment }>

/** The operations on environments, as one caller calls them. */
export class Environments {
  readonly #api: Api

  constructor(api: Api) {
    this.#api = api
  }

  /** @param seen the revision in `If-Match`; absent: no header, so that it creates */
  put(id: string, document: object, seen?: number | string): Promise<Answered> {
    return this.#write('PUT', id, '', { document }, seen)
  }

  archive(id: string, seen?: number | string): Promise<Answered> {
    return this.#write('DELETE', id, '', undefined, seen)
  }

  unarchive(id: string, seen?: number | string): Promise<Answered> {
    return this.#write('POST', id, '/unarchive', undefined, seen)
  }

  restore(id: string, revision: number, seen?: number | string): Promise<Answered> {
    return this.#write('POST', id, `/revisions/${revision}/restore`, undefined, seen)
  }

  writeSecret(id: string, name: string, value: string, seen?: number | string): Promise<Answered> {
    return this.#write('PUT', id, `/secrets/${name}`, { value }, seen)
  }

  /** Writes how sandboxes get a secret, with or without a value. */
  putSecret(id: string, name: string, body: object, seen?: number | string): Promise<Answered> {
    return this.#write('PUT', id, `/secrets/${name}`, body, seen)
  }

  deleteSecret(id: string, name: string, seen?: number | string): Promise<Answered> {
    return this.#write('DELETE', id, `/secrets/${name}`, undefined, seen)
  }

  choose(id: string | null): Promise<Answer<{ environment: Environment | null }>> {
    return this.#api.put('/v1/organization/default-environment', { id })
  }

  read(id: string): Promise<Answered> {
    return this.#api.get(`/v1/environments/${id}`)
  }

  list(query = ''): Promise<Answer<EnvironmentPage>> {
    return this.#api.get(`/v1/environments${query}`)
  }

  /** Creates an environment with a name of its own. */
  async make(document: object = {}): Promise<Environment> {
    const id = randomUUID()
    const made = await this.put(id, { name: `made ${id}`, ...document })
    if (made.status !== 201) throw new Error(`the environment answered ${made.status} ${made.text}`)
    return made.body.environment
  }

  #write(
    method: string,
    id: string,
    path: string,
    body: object | undefined,
    seen?: number | string,
  ): Promise<Answered> {
    const tag = typeof seen === 'number' ? `"${seen}"` : seen
    const headers: Record<string, string> = tag === undefined ? {} : { 'if-match': tag }
    return this.#api.call(method, `/v1/environments/${id}${path}`, body, headers)
  }
}
