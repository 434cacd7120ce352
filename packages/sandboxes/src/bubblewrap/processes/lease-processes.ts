import type { LeaseGroups, LeaseProcesses } from '../../leases/lease-freezer.ts'
import { groupOf } from '../../leases/lease-group.ts'
import { markOf } from '../../leases/mark.ts'
import type { Freezer } from '../../linux/cgroups.ts'
import type { DriverContext } from '../launch/driver-context.ts'
import { markedProcesses } from './marked-processes.ts'

/** Finds the processes of this driver's sandboxes: by their cgroup, and by the mark of their first process. */
export function leaseProcesses({ cgroups, instance }: DriverContext): LeaseProcesses {
  return {
    instance,
    groups: cgroups?.freezer && groupsOf(cgroups.freezer),
    async first(files) {
      const mark = markOf(files)
      return (await markedProcesses(instance.tag)).find(process => process.leaseId === mark && process.first)?.pid
    },
  }
}

function groupsOf(freezer: Freezer): LeaseGroups {
  return {
    freeze(files) {
      const group = groupOf(files)
      if (group !== undefined) freezer.freeze(group)
    },
    thaw(files) {
      const group = groupOf(files)
      return group !== undefined && freezer.thaw(group)
    },
    state(files) {
      const group = groupOf(files)
      return group === undefined ? 'gone' : freezer.state(group)
    },
  }
}
