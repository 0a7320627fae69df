//! Which process of how many this is, by the environment: that of `acc launch`, of Slurm's `srun`, or of MPI's `mpirun`.

/// The place of a process in its launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number, from 0 on.
    pub process: u32,
    /// How many there are.
    pub processes: u32,
    /// Where the first one listens: host and port.
    pub coordinator: String,
    /// The processors that it may use, if not all.
    pub processors: Vec<usize>,
    /// How long it waits for the others to come.
    pub connect_seconds: u32,
}

/// The variables of `acc launch`.
pub mod variables {
    /// The number of the process.
    pub const PROCESS: &str = "ACC_PROCESS";
    /// How many processes there are.
    pub const PROCESSES: &str = "ACC_PROCESSES";
    /// Where the first process listens: host and port.
    pub const COORDINATOR: &str = "ACC_COORDINATOR";
    /// The processors that the process may use: numbers, separated by commas.
    pub const PROCESSORS: &str = "ACC_PROCESSORS";
    /// The fewest bytes of an array that is cut.
    pub const MIN_CUT_BYTES: &str = "ACC_MIN_CUT_BYTES";
    /// How many seconds processes wait for the others to come.
    pub const CONNECT_SECONDS: &str = "ACC_CONNECT_SECONDS";
    /// The folder into which each process writes a trace of what it did: `process-0.json` and so on.
    pub const TRACE: &str = "ACC_TRACE";
}

/// The port of the first process, where none is named.
pub const DEFAULT_PORT: u16 = 7337;

/// How long processes wait for the others, where it is not said.
const DEFAULT_CONNECT_SECONDS: u32 = 60;

/// How launchers say which process of how many one is, and how many there are on its machine: in turn ours, Slurm's, and
/// those of Open MPI and MPICH.
const LAUNCHERS: [(&str, &str, Option<&str>); 4] = [
    (variables::PROCESS, variables::PROCESSES, None),
    ("SLURM_PROCID", "SLURM_NTASKS", None),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", Some("OMPI_COMM_WORLD_LOCAL_SIZE")),
    ("PMI_RANK", "PMI_SIZE", Some("MPI_LOCALNRANKS")),
];

/// Whether this process is one of several of a launch.
pub fn is_launched() -> bool {
    Place::read(|name| std::env::var(name).ok()).map_or(true, |place| place.processes > 1)
}

impl Place {
    /// Of a process that nothing has launched.
    pub fn alone() -> Place {
        let connect_seconds = DEFAULT_CONNECT_SECONDS;
        Place { process: 0, processes: 1, coordinator: String::new(), processors: Vec::new(), connect_seconds }
    }

    /// The place that variables say; the error says which one is wrong.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Place, String> {
        let number = |name: &str| -> Result<Option<u32>, String> {
            let Some(text) = variable(name) else { return Ok(None) };
            text.parse().map(Some).map_err(|_| format!("{name} is `{text}`, and must be a number"))
        };
        for (process, processes, on_this_machine) in LAUNCHERS {
            let (Some(at), Some(of)) = (number(process)?, number(processes)?) else { continue };
            if at >= of {
                return Err(format!("{process} is {at}, and must be less than {processes}, which is {of}"));
            }
            if of == 1 {
                break;
            }
            let one_machine = on_this_machine.map(number).transpose()?.flatten() == Some(of);
            let coordinator = variable(variables::COORDINATOR)
                .or_else(|| Some(with_port(&first_host(&variable("SLURM_STEP_NODELIST")?))))
                .or_else(|| one_machine.then(|| with_port("127.0.0.1")))
                .ok_or_else(|| {
                    format!(
                        "{} is not set: it says where the first process listens, as in `node1:{DEFAULT_PORT}`",
                        variables::COORDINATOR
                    )
                })?;
            if coordinator.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
                return Err(format!("{} is `{coordinator}`, and must be HOST:PORT", variables::COORDINATOR));
            }
            let processors = variable(variables::PROCESSORS).unwrap_or_default();
            let processors = processors.split(',').filter(|n| !n.is_empty()).map(str::parse).collect::<Result<_, _>>();
            let processors = processors.map_err(|_| format!("{} must be numbers", variables::PROCESSORS))?;
            let connect_seconds = number(variables::CONNECT_SECONDS)?.unwrap_or(DEFAULT_CONNECT_SECONDS);
            return Ok(Place { process: at, processes: of, coordinator, processors, connect_seconds });
        }
        Ok(Place::alone())
    }
}

fn with_port(host: &str) -> String {
    format!("{host}:{DEFAULT_PORT}")
}

/// The first host of a list as Slurm writes it: `gpu[03-05,09],login` begins with `gpu03`.
fn first_host(list: &str) -> String {
    let (before, rest) = list.split_at(list.find(['[', ',']).unwrap_or(list.len()));
    let Some(ranges) = rest.strip_prefix('[') else { return before.to_string() };
    let first = ranges.split(['-', ',', ']']).next().unwrap_or_default();
    let after = ranges.split_once(']').map_or("", |(_, after)| after.split(',').next().unwrap_or_default());
    format!("{before}{first}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(all: &[(&str, &str)]) -> Result<Place, String> {
        Place::read(|name| all.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
    }

    #[test]
    fn launchers_say_which_process_one_is() {
        assert_eq!(place(&[]), Ok(Place::alone()));
        let ours =
            [("ACC_PROCESS", "1"), ("ACC_PROCESSES", "3"), ("ACC_COORDINATOR", "a:1"), ("ACC_PROCESSORS", "2,3")];
        let coordinator = "a:1".to_string();
        let want = Place { process: 1, processes: 3, coordinator, processors: vec![2, 3], ..Place::alone() };
        assert_eq!(place(&ours), Ok(want));
        let slurm = [("SLURM_PROCID", "4"), ("SLURM_NTASKS", "8"), ("SLURM_STEP_NODELIST", "gpu[03-05,09],login")];
        let found = place(&slurm).expect("Slurm's variables");
        assert_eq!((found.process, found.processes, found.coordinator.as_str()), (4, 8, "gpu03:7337"));
        let mpi = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "2")];
        assert_eq!(place(&mpi).expect("MPI's variables").coordinator, "127.0.0.1:7337");
    }

    #[test]
    fn what_is_wrong_with_variables_is_told() {
        let wrong = |all: &[(&str, &str)], what: &str| {
            let why = place(all).expect_err(what);
            assert!(why.contains(what), "{why}");
        };
        wrong(&[("ACC_PROCESS", "2"), ("ACC_PROCESSES", "2")], "less than ACC_PROCESSES");
        wrong(&[("ACC_PROCESS", "one"), ("ACC_PROCESSES", "2")], "must be a number");
        wrong(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")], "ACC_COORDINATOR is not set");
        wrong(&[("ACC_PROCESS", "0"), ("ACC_PROCESSES", "2"), ("ACC_COORDINATOR", "host")], "HOST:PORT");
    }

    #[test]
    fn the_first_host_of_a_list() {
        for (list, first) in [("a", "a"), ("a,b", "a"), ("n[1-4]", "n1"), ("n[08,10]x,m", "n08x")] {
            assert_eq!(first_host(list), first);
        }
    }
}
