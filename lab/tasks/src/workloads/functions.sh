# Starts a server under the recorder or the filter.
serve() {
	$under "$@" >server.log 2>&1 &
	server=$!
}

# Repeats a command until it succeeds, for ten seconds.
until_ok() {
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || { echo "no answer: $*"; cat server.log; kill -9 $server; exit 1; }
		sleep 0.05
	done
}

# Ends the server by SIGTERM, and fails if it ends by another signal or with an error.
stop() {
	kill -TERM $server
	status=0
	wait $server || status=$?
	case $status in
	0 | 143) ;;
	*)
		echo "the server ended with status $status"
		cat server.log
		exit 1
		;;
	esac
}
