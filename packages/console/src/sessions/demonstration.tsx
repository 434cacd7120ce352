import type { Repository } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'

/** The steps of the demonstration, whatever the message. */
export const demonstrationTask = 'Write the Spanish greeting that the test asks for, or the next one.'

/** A button that makes the organization's sample repository, and hands it on. */
export function SampleButton(props: {
  label: string
  variant?: 'primary' | 'plain'
  onMade: (made: Repository) => void
}) {
  const sample = useMutation({
    mutationFn: async () => (await call<{ repository: Repository }>('PUT', 'sample-repository')).repository,
    onSuccess: repository => {
      void queryClient.invalidateQueries({ queryKey: ['repositories'] })
      props.onMade(repository)
    },
  })
  return (
    <>
      <Button variant={props.variant ?? 'plain'} busy={sample.isPending} onClick={() => sample.mutate()}>
        {props.label}
      </Button>
      <InlineProblem error={sample.error} />
    </>
  )
}
