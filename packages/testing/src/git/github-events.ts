/** The repository that an event names. */
export interface EventRepository {
  readonly id: number
  readonly full_name: string
  readonly html_url: string
}

/** An event as GitHub posts it: the value of `X-GitHub-Event`, and the fields of the body that are read. */
export interface PostedEvent {
  readonly name: string
  readonly body: object
}

interface Note {
  readonly by?: string
  readonly type?: 'User' | 'Bot'
  readonly number?: number
}

interface FailedCheck {
  readonly conclusion?: string
  readonly app?: number
  readonly pull?: number
  readonly externalId?: string
}

/** Events of a repository, as GitHub's documentation shows their bodies. */
export const githubEvents = (repository: EventRepository) => {
  const at = (number: number, kind: 'issues' | 'pull' = 'issues') => `${repository.html_url}/${kind}/${number}`
  const person = (login: string, type: 'User' | 'Bot' = 'User') => ({ login, type })
  return {
    comment: (body: string, { by = 'ann', type = 'User', number = 7 }: Note = {}, more: object = {}): PostedEvent => ({
      name: 'issue_comment',
      body: {
        action: 'created',
        issue: { number, title: 'It hangs', html_url: at(number) },
        comment: { body, user: person(by, type), html_url: `${at(number)}#c`, performed_via_github_app: null },
        repository,
        sender: person(by, type),
        ...more,
      },
    }),
    onPull: (body: string, number: number, by = 'ann'): PostedEvent => ({
      name: 'issue_comment',
      body: {
        action: 'created',
        issue: { number, title: 'A change', html_url: at(number, 'pull'), pull_request: { url: at(number, 'pull') } },
        comment: { body, user: person(by), html_url: `${at(number, 'pull')}#c`, performed_via_github_app: null },
        repository,
        sender: person(by),
      },
    }),
    label: (label: string, { by = 'ann', number = 7 }: Note = {}): PostedEvent => ({
      name: 'issues',
      body: {
        action: 'labeled',
        label: { name: label },
        issue: { number, title: 'It hangs', body: 'When I press it.', html_url: at(number) },
        repository,
        sender: person(by),
      },
    }),
    assigned: (login: string, { by = 'ann', number = 7 }: Note = {}, action = 'assigned'): PostedEvent => ({
      name: 'issues',
      body: {
        action,
        assignee: person(login),
        issue: { number, title: 'It hangs', body: 'When I press it.', html_url: at(number) },
        repository,
        sender: person(by),
      },
    }),
    review: (state: string, body: string | null, number: number, by = 'ann'): PostedEvent => ({
      name: 'pull_request_review',
      body: {
        action: 'submitted',
        review: { id: 80, state, body, user: person(by), html_url: `${at(number, 'pull')}#r` },
        pull_request: { number, title: 'A change', html_url: at(number, 'pull') },
        repository,
        sender: person(by),
      },
    }),
    check: (
      head: { readonly branch: string | null; readonly oid: string },
      { conclusion = 'failure', app = 15368, pull, externalId = '' }: FailedCheck = {},
    ): PostedEvent => ({
      name: 'check_run',
      body: {
        action: 'completed',
        check_run: {
          name: 'unit tests',
          conclusion,
          head_sha: head.oid,
          html_url: `${repository.html_url}/runs/1`,
          output: { title: '1 failed', summary: 'greet() is wrong' },
          check_suite: { head_branch: head.branch },
          app: { id: app },
          external_id: externalId,
          // GitHub also lists those of the repository that this one is a fork of.
          pull_requests: [
            { number: 404, base: { repo: { id: repository.id + 1 } } },
            ...(pull === undefined ? [] : [{ number: pull, base: { repo: { id: repository.id } } }]),
          ],
        },
        repository,
        sender: person('github-actions[bot]', 'Bot'),
      },
    }),
    push: (branch: string): PostedEvent => ({
      name: 'push',
      body: { ref: `refs/heads/${branch}`, repository, sender: person('ann') },
    }),
    suite: (id: number, head: { readonly branch: string; readonly oid: string }): PostedEvent => ({
      name: 'check_suite',
      body: {
        action: 'completed',
        check_suite: {
          id,
          conclusion: 'failure',
          head_sha: head.oid,
          head_branch: head.branch,
          app: { id: 15368, name: 'Checks' },
          pull_requests: [],
        },
        repository,
        sender: person('github-actions[bot]', 'Bot'),
      },
    }),
  }
}
